import type { Database } from './database-handle.ts';
import { attachEmbedded, openEmbedded } from './embedded.ts';
import { openExternal } from './external.ts';

export type { Database };

export interface DatabaseOptions {
  dataDir: string;
  databaseUrl?: string | undefined;
  dataDatabaseUrl?: string | undefined;
  log: (line: string) => void;
}

/** For a server: with an embedded PostgreSQL it is the only one on the data dir. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  return options.databaseUrl
    ? await openExternal({ ...options, url: options.databaseUrl })
    : withRowsElsewhere(await openEmbedded(options), options);
}

/** For a command of the operator's: beside a running server, or without one. */
export async function attachDatabase(options: DatabaseOptions): Promise<Database> {
  return options.databaseUrl
    ? await openExternal({ ...options, url: options.databaseUrl })
    : withRowsElsewhere(await attachEmbedded(options), options);
}

function withRowsElsewhere(database: Database, { dataDatabaseUrl }: DatabaseOptions): Database {
  return dataDatabaseUrl ? { ...database, rowsUrl: dataDatabaseUrl } : database;
}
