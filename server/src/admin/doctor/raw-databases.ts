import { existsSync } from 'node:fs';
import type { ClientBase } from 'pg';
import { clusterFolder } from '../../drivers/database/cluster.ts';
import { withClient } from '../../drivers/database/connect.ts';
import { attachEmbedded } from '../../drivers/database/embedded.ts';
import { tagOf } from '../../drivers/raw-database/database-tag.ts';
import { describeObstacle, findObstacle } from '../../drivers/raw-database/obstacle.ts';
import { installationKey } from '../../raw-db/installation-id.ts';
import { rawFolder } from '../../raw-place.ts';
import { adminUrl } from '../system.ts';
import { type Check, type DatabaseFacts, type Finding, messageOf, ok, problem, warning } from './check.ts';

interface Wanted {
  /** Those that were there once. */
  made: string[];
  all: string[];
  tag: string;
}

/** Apps' own databases: whether their server can hold them safely, and whether each is there. */
export const rawDatabases: Check = {
  name: 'raw databases',
  needs: 'database',
  run: async (facts) => {
    const { config, database } = facts;
    const wanted = await readWanted(facts);
    if (config.rawDatabaseUrl) return await checkServer(config.rawDatabaseUrl, wanted);
    if (database.kind === 'embedded') return await checkOwn(config.dataDir, wanted);
    if (wanted.all.length === 0) return ok('No app has a database of its own.');
    const found = await checkServer(database.controlUrl, wanted);
    if (found.status !== 'ok') return found;
    return warning(
      `${found.detail} They share the server of the control plane: one that uses up its locks or its memory stops it.`,
      'Set SVC_RAW_DATABASE_URL to another server, and let owners enable them anew.',
    );
  },
};

async function readWanted({ control }: DatabaseFacts): Promise<Wanted> {
  // A database of an earlier version has no such table; that is told by another check.
  const known = await control.pool.query(
    `select from information_schema.columns
     where table_schema = 'svc' and table_name = 'raw_databases' and column_name = 'is_made'`,
  );
  if (known.rowCount === 0) return { made: [], all: [], tag: '' };
  const { rows } = await control.pool.query<{ database: string; is_made: boolean; state: string }>(
    'select database, is_made, state from svc.raw_databases order by 1',
  );
  const key = await control.pool.query<{ value: string }>(
    'select value from svc.platform_keys where name = $1',
    [installationKey],
  );
  return {
    made: rows.filter((row) => row.is_made && row.state !== 'dropping').map((row) => row.database),
    all: rows.map((row) => row.database),
    tag: key.rows[0] ? tagOf(JSON.parse(key.rows[0].value)) : '',
  };
}

async function checkOwn(dataDir: string, wanted: Wanted): Promise<Finding> {
  const folder = rawFolder(dataDir);
  if (!existsSync(clusterFolder(folder))) {
    return wanted.made.length > 0 ? missing(wanted.made) : ok('No app has a database of its own.');
  }
  const server = await attachEmbedded({ dataDir: folder, use: 'databases_of_apps', log: () => {} });
  try {
    return await checkServer(server.controlUrl, wanted);
  } finally {
    await server.stop();
  }
}

async function checkServer(url: string, wanted: Wanted): Promise<Finding> {
  try {
    return await withClient(adminUrl(url), (client) => judge(client, wanted));
  } catch (error) {
    return problem(
      `The server of apps' own databases does not answer: ${messageOf(error)}`,
      'Check SVC_RAW_DATABASE_URL, that this server runs, and that it lets this machine in.',
    );
  }
}

async function judge(client: ClientBase, wanted: Wanted): Promise<Finding> {
  const obstacle = await findObstacle(client);
  if (obstacle) return problem("The server can not hold apps' own databases.", describeObstacle(obstacle));
  const { rows } = await client.query<{ name: string; tag: string | null }>(
    `select datname as name, shobj_description(oid, 'pg_database') as tag from pg_database
     where datname ~ '^svc_raw_' order by 1`,
  );
  const gone = wanted.made.filter((name) => !rows.some((row) => row.name === name));
  if (gone.length > 0) return missing(gone);
  const left = rows.filter(({ name, tag }) => tag === wanted.tag && !wanted.all.includes(name));
  if (left.length > 0) {
    return warning(
      `Of no app any more, as after a restore: ${left.map(({ name }) => name).join(', ')}.`,
      'Take what is needed out of them with pg_dump, then drop each with its role.',
    );
  }
  return ok(`Apps that have a database of their own: ${wanted.made.length}. Each is there.`);
}

function missing(names: readonly string[]): Finding {
  return problem(
    `Missing on the server: ${names.join(', ')}.`,
    'Bring them back from a copy of that server, or let the owners disable and enable them.',
  );
}
