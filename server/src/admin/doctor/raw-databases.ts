import { existsSync } from 'node:fs';
import type { ClientBase } from 'pg';
import { installationKey } from '../../data/raw-databases/lifecycle.ts';
import { clusterFolder } from '../../drivers/database/cluster.ts';
import { withClient } from '../../drivers/database/connect.ts';
import { attachEmbedded } from '../../drivers/database/embedded.ts';
import { installationTag } from '../../drivers/raw-database/databases.ts';
import { rawDataDir } from '../../drivers/raw-database/raw-databases.ts';
import { describeServerProblem, findServerProblem } from '../../drivers/raw-database/server.ts';
import { adminUrl } from '../system.ts';
import { type DatabaseFacts, databaseCheck, errorText, type Finding, ok, problem, warning } from './check.ts';

interface ExpectedDatabases {
  made: string[];
  all: string[];
  tag: string;
}

export const rawDatabases = databaseCheck('raw databases', async (facts) => {
  const { config, database } = facts;
  const expected = await readExpected(facts);
  if (config.rawDatabaseUrl) return await checkServer(config.rawDatabaseUrl, expected);
  if (database.kind === 'embedded') return await checkOwn(config.dataDir, expected);
  if (expected.all.length === 0) return ok('No app has its own database.');
  const found = await checkServer(database.controlUrl, expected);
  if (found.status !== 'ok') return found;
  return warning(
    `${found.detail} They share the server of the control plane, which fails if one of them exhausts its locks or memory.`,
    'Set SVC_RAW_DATABASE_URL to another server, and ask the owners to enable them again.',
  );
});

async function readExpected({ control }: DatabaseFacts): Promise<ExpectedDatabases> {
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
    tag: key.rows[0] ? installationTag(JSON.parse(key.rows[0].value)) : '',
  };
}

async function checkOwn(dataDir: string, expected: ExpectedDatabases): Promise<Finding> {
  const folder = rawDataDir(dataDir);
  if (!existsSync(clusterFolder(folder))) {
    return expected.made.length > 0 ? missingProblem(expected.made) : ok('No app has its own database.');
  }
  const server = await attachEmbedded({ dataDir: folder, use: 'app_databases', log: () => {} });
  try {
    return await checkServer(server.controlUrl, expected);
  } finally {
    await server.stop();
  }
}

async function checkServer(url: string, expected: ExpectedDatabases): Promise<Finding> {
  try {
    return await withClient(adminUrl(url), (client) => checkDatabases(client, expected));
  } catch (error) {
    return problem(
      `The server of apps' own databases does not answer: ${errorText(error)}`,
      'Check SVC_RAW_DATABASE_URL, that the server runs and accepts connections from this machine.',
    );
  }
}

async function checkDatabases(client: ClientBase, expected: ExpectedDatabases): Promise<Finding> {
  const obstacle = await findServerProblem(client);
  if (obstacle)
    return problem("The server is not suitable for apps' own databases.", describeServerProblem(obstacle));
  const { rows } = await client.query<{ name: string; tag: string | null }>(
    `select datname as name, shobj_description(oid, 'pg_database') as tag from pg_database
     where datname ~ '^svc_raw_' order by 1`,
  );
  const gone = expected.made.filter((name) => !rows.some((row) => row.name === name));
  if (gone.length > 0) return missingProblem(gone);
  const orphans = rows.filter(({ name, tag }) => tag === expected.tag && !expected.all.includes(name));
  if (orphans.length > 0) {
    return warning(
      `Without an app, as after a restore: ${orphans.map(({ name }) => name).join(', ')}.`,
      'Save what is needed with pg_dump, then drop each, and its role if no other database needs it.',
    );
  }
  return ok(`Apps with their own database: ${expected.made.length}. All exist.`);
}

function missingProblem(names: readonly string[]): Finding {
  return problem(
    `Missing on the server: ${names.join(', ')}.`,
    'Restore them with svc-admin restore or from a backup of that server, or ask the owners to disable and enable them.',
  );
}
