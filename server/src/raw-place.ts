import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Database } from './drivers/database/database.ts';
import { createRawDatabases, type RawDatabases } from './drivers/raw-database/raw-databases.ts';
import { ownServer, serverAt } from './drivers/raw-database/raw-server.ts';

/** Of all apps together: some fewer than their PostgreSQL takes, so that the platform itself always gets in. */
const gateConnectionsMax = 100;

/** Below the data dir: the PostgreSQL of its own for databases of apps. */
export function rawFolder(dataDir: string): string {
  return join(dataDir, 'raw');
}

/**
 * Where apps' own databases are: the server that the operator names for them; else, beside an embedded control plane,
 * an embedded server of their own, and with an external one that server.
 */
export function openRawPlace(
  { rawDatabaseUrl, dataDir }: Pick<Config, 'rawDatabaseUrl' | 'dataDir'>,
  { kind, controlUrl }: Pick<Database, 'kind' | 'controlUrl'>,
  { installation, log }: { installation: string; log: Logger },
): RawDatabases {
  if (rawDatabaseUrl) return createRawDatabases({ installation, server: serverAt(rawDatabaseUrl) });
  if (kind === 'external') return createRawDatabases({ installation, server: serverAt(controlUrl) });
  return createRawDatabases({
    installation,
    server: ownServer({
      dataDir: rawFolder(dataDir),
      log: (line) => log.info(`Databases of apps: ${line}`),
      warn: (line) => log.error(`Databases of apps: ${line}`),
    }),
    gate: {
      portFile: join(dataDir, 'raw-db.port'),
      connectionsMax: gateConnectionsMax,
      startupMsMax: 10_000,
      log: (line) => log.warn(line),
    },
  });
}
