import type { AppPlace } from '../plumbing/app-place.ts';
import type { Db } from '../plumbing/db.ts';
import { openValues } from './env-value.ts';
import { listEnvRows } from './store.ts';

/** The variables that the app's owners have set, as they are now: for its processes, and for nothing that people see. */
export async function envOf(db: Db, place: AppPlace): Promise<Record<string, string>> {
  return Object.fromEntries(await openValues(db, await listEnvRows(db, place)));
}
