import { rawUrl } from '../drivers/raw-database/raw-url.ts';
import type { Db } from '../plumbing/db.ts';
import { openPassword } from './password-seal.ts';
import { findRawDbRow } from './store.ts';

/** For the environment of the app itself, and for nothing that people see; empty where it has no database. */
export async function rawDatabaseEnv(
  db: Db,
  { tenantId, appId }: { tenantId: string; appId: string },
): Promise<Record<string, string>> {
  const row = await findRawDbRow(db, tenantId, appId);
  if (!row || row.state === 'dropping') return {};
  const { database } = row;
  return {
    DATABASE_URL: rawUrl(row.address, { user: database, password: await openPassword(db, row), database }),
  };
}
