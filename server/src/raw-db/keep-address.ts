import type { RawDatabases } from '../drivers/raw-database/raw-databases.ts';
import type { Db } from '../plumbing/db.ts';
import { hasRawDbRows, saveAddressOfAll } from './store.ts';

/** At a start: databases that are there must be reachable, and what is handed to apps must name the right place. */
export async function keepAddress({ db, raw }: { db: Db; raw: RawDatabases }): Promise<void> {
  if (await hasRawDbRows(db)) await saveAddressOfAll(db, await raw.address());
}
