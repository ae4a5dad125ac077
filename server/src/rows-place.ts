import pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Database } from './drivers/database/database.ts';
import { openControlDatabase } from './plumbing/db.ts';
import type { RowsPlace } from './plumbing/mutation.ts';

/** For the verbs that shape apps' tables, which are few and short. */
const connectionsMax = 5;

/** Where apps' tables are made: beside the control plane, or on the server that the operator names for rows. */
export function openRowsPlace(
  { dataDatabaseUrl }: Pick<Config, 'dataDatabaseUrl'>,
  database: Pick<Database, 'rowsUrl'>,
  log: Logger,
): RowsPlace & { close(): Promise<void> } {
  if (!dataDatabaseUrl) return { ...besideControl(database.rowsUrl), close: async () => {} };
  const { db, close } = openControlDatabase(dataDatabaseUrl, {
    connectionsMax,
    onError: (error) => log.warn({ err: error }, 'an idle connection to the database of rows was lost'),
  });
  return { db, role: null, close };
}

/** In the control plane's own database, for the role that serves rows. */
export function besideControl(rowsUrl: string): RowsPlace {
  return { db: null, role: new pg.Client({ connectionString: rowsUrl }).user ?? null };
}
