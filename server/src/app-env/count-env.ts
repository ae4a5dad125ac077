import type { AppPlace } from '../plumbing/app-place.ts';
import type { Db } from '../plumbing/db.ts';
import { listEnvRows } from './store.ts';

/** For other slices: how many the owners have set. */
export async function countEnv(db: Db, place: AppPlace): Promise<number> {
  return (await listEnvRows(db, place)).length;
}
