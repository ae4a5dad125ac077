import type { AppCtx } from '../plumbing/context.ts';
import { type RawDbRecord, rawDbRecord } from './rules.ts';
import { factsOf, findRawDbRow } from './store.ts';

export async function getRawDb({ db, tenant, app }: AppCtx): Promise<RawDbRecord> {
  const row = await findRawDbRow(db, tenant.id, app.id);
  return rawDbRecord(row && factsOf(row));
}
