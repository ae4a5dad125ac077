import pg from 'pg';
import type { Logger } from 'pino';
import { openControlDatabase } from '../../core/db.ts';
import type { RowDatabase } from '../../core/mutation.ts';
import type { Database } from '../database/database.ts';

const connectionsMax = 5;

export function openRowDatabase(
  { dataDatabaseUrl }: { dataDatabaseUrl: string | undefined },
  database: Pick<Database, 'rowsUrl'>,
  log: Logger,
): RowDatabase & { close(): Promise<void> } {
  if (!dataDatabaseUrl) return { ...rowDatabaseInControl(database.rowsUrl), close: async () => {} };
  const { db, close } = openControlDatabase(dataDatabaseUrl, {
    connectionsMax,
    onError: (error) => log.warn({ err: error }, 'idle connection to the row database lost'),
  });
  return { db, role: null, close };
}

export function rowDatabaseInControl(rowsUrl: string): RowDatabase {
  return { db: null, role: new pg.Client({ connectionString: rowsUrl }).user ?? null };
}
