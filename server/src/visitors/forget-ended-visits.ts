import type { Db } from '../plumbing/db.ts';
import { deleteEndedRows } from './store.ts';

/** What has expired counts for nothing already; this only makes room. */
export async function forgetEndedVisits(db: Db): Promise<void> {
  await deleteEndedRows(db);
}
