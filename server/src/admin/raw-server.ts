import { existsSync } from 'node:fs';
import type { Config } from '../config.ts';
import { clusterFolder } from '../drivers/database/cluster.ts';
import type { Database } from '../drivers/database/database.ts';
import type { attachEmbedded } from '../drivers/database/embedded.ts';
import { rawDataDir } from '../drivers/raw-database/raw-databases.ts';

export interface RawServerAccess {
  url: string;
  superuserUrl: string | null;
  stop(): Promise<void>;
  stopNow(): void;
}

/** The server of apps' own databases, as the platform chooses it. Null: the embedded one was never created. */
export async function openRawServer(
  { rawDatabaseUrl, dataDir }: Pick<Config, 'rawDatabaseUrl' | 'dataDir'>,
  { kind, controlUrl }: Pick<Database, 'kind' | 'controlUrl'>,
  open: typeof attachEmbedded,
  ifMissing: 'create' | 'none',
): Promise<RawServerAccess | null> {
  const url = rawDatabaseUrl ?? (kind === 'external' ? controlUrl : undefined);
  if (url !== undefined) return { url, superuserUrl: null, stop: async () => {}, stopNow: () => {} };
  const folder = rawDataDir(dataDir);
  if (ifMissing === 'none' && !existsSync(clusterFolder(folder))) return null;
  const server = await open({ dataDir: folder, use: 'app_databases', log: () => {} });
  const { controlUrl: ownUrl, adminUrl: superuserUrl, stop, stopNow } = server;
  return { url: ownUrl, superuserUrl, stop, stopNow };
}
