import { CompiledQuery, sql } from 'kysely';
import { sha256 } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';
import { notifySql } from '../plumbing/invalidation.ts';
import { workTag } from './bootstrap-parts.ts';

/**
 * The code that a run waits for was denied: nobody can approve it any more, and a copy of the server ends the run. Who
 * asked about the code is refused, so there is no change of theirs that this could be part of.
 */
export async function noteDenied(
  db: Db,
  { tenantId, userId }: { tenantId: string; userId: string },
  { deviceCode }: { deviceCode: string },
): Promise<void> {
  const { numAffectedRows } = await sql`
    update svc.bootstrap_runs set is_denied = true
    where tenant_id = ${tenantId} and created_by = ${userId} and state = 'awaiting_approval'
      and device_code_hash = ${sha256(deviceCode)}`.execute(db);
  if (numAffectedRows) await db.executeQuery(CompiledQuery.raw(notifySql, [workTag]));
}
