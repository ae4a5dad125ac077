import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Database } from './drivers/database/database.ts';
import { createRawDatabases, type RawDatabases } from './drivers/raw-database/raw-databases.ts';

/** Of all apps together, half of what the embedded PostgreSQL takes: the platform itself must always get in. */
const gateConnectionsMax = 100;

/** Where apps' own databases are: the server that the operator names for them, or the one of the control plane. */
export function openRawPlace(
  { rawDatabaseUrl, dataDir }: Pick<Config, 'rawDatabaseUrl' | 'dataDir'>,
  { kind, controlUrl }: Pick<Database, 'kind' | 'controlUrl'>,
  log: Logger,
): RawDatabases {
  if (rawDatabaseUrl) return createRawDatabases({ url: rawDatabaseUrl });
  if (kind === 'external') return createRawDatabases({ url: controlUrl });
  return createRawDatabases({
    url: controlUrl,
    gate: {
      portFile: join(dataDir, 'raw-db.port'),
      connectionsMax: gateConnectionsMax,
      log: (line) => log.warn(line),
    },
  });
}
