import { idempotencyKeptHours } from '@svc/contract/limits.ts';
import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';

/** Where the rows are: keys that are past their time count for nothing already, and only take up room. */
export async function forgetOldRowKeys(rowsDb: Db): Promise<void> {
  await sql`delete from svc_data.idempotency_keys
    where created_at < now() - make_interval(hours => ${idempotencyKeptHours})`.execute(rowsDb);
}
