import { attachEmbedded, openEmbedded } from './embedded.ts';
import { openExternal } from './external.ts';
import type { Database } from './types.ts';

export type { Database };

export interface DatabaseOptions {
  dataDir: string;
  databaseUrl?: string;
  dataDatabaseUrl?: string;
  connectionsMax?: number;
  log: (line: string) => void;
}

export const openDatabase = (options: DatabaseOptions) => openWith(options, openEmbedded);
export const attachDatabase = (options: DatabaseOptions) => openWith(options, attachEmbedded);

async function openWith(options: DatabaseOptions, open: typeof openEmbedded): Promise<Database> {
  const { databaseUrl, dataDatabaseUrl } = options;
  if (databaseUrl) return openExternal({ ...options, url: databaseUrl });
  const database = await open(options);
  return dataDatabaseUrl ? { ...database, rowsUrl: dataDatabaseUrl } : database;
}
