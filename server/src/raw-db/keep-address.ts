import type { RawDatabases } from '../drivers/raw-database/raw-databases.ts';
import type { Db } from '../plumbing/db.ts';
import { listRawDbLogins, saveAddressOfAll } from './store.ts';

/**
 * At a start: databases that are there must be reachable, and what is handed to apps must name the right place. Where
 * they are reached is settled here also while there are none, so that no preview has to.
 */
export async function keepAddress({ db, raw }: { db: Db; raw: RawDatabases }): Promise<void> {
  await saveAddressOfAll(db, await raw.address());
  raw.welcome(await listRawDbLogins(db));
}
