import type { AppPlace } from '../plumbing/app-place.ts';
import type { Db } from '../plumbing/db.ts';
import { findStorageRow } from './store.ts';

/** For who tells the app where its storage is. */
export async function isStorageEnabled(db: Db, place: AppPlace): Promise<boolean> {
  return (await findStorageRow(db, place)) !== undefined;
}
