import { Client } from 'pg';
import { readerPassword, startWarehouse, type Warehouse } from '../../acceptance/support/warehouses.ts';
import type { Cleanup } from './cleanup.ts';
import { categories, idSql, rowCount } from './dataset.ts';
import { serverLoads } from './loads.ts';
import { type CountedFigures, type Measurement, measure, percentile } from './measure.ts';
import { pgbenchScript, randomId, type Script } from './pgbench-script.ts';
import type { Prepared } from './prepare.ts';
import { runPgbench } from './run-pgbench.ts';
import { runWrk } from './run-wrk.ts';
import type { Table } from './start-server.ts';
import type { Tools } from './tools.ts';

/** Many short ones: the speed of a machine that others share changes within seconds. */
const rounds = 21;
const seconds = 1;
const warmUpSeconds = 3;
const policyMin = 0.9;
const connectorMin = 0.6;
/** As many as a connector has. */
const connectorConnections = 4;
type Kind = 'point' | 'list';
type Run = (warmUp: boolean) => Promise<Measurement>;

/** What rules cost: the same rows, read by somebody who came through the app, in tables with and without conditions. */
async function measureRules(prepared: Prepared, tools: Tools, cleanup: Cleanup): Promise<void> {
  const { server, reads, inserts, batches } = prepared;
  const setRules = ({ name }: Table, rules: object) =>
    server.call('PUT', `/api/v1/tenants/demo/apps/bench/tables/${name}/access`, rules);
  const read = ['category=gte.0'];
  await setRules(inserts, { read });
  await setRules(batches, { read, columns: { price: { read: ['role:buyer', 'category=lt.5'] } } });
  const user = 'admin@demo.localhost';
  const visitor = server.admin('tokens', 'issue', '--user', user, '--through', 'demo/bench').access_token;
  const wrk = wrkOn(prepared, tools, cleanup, visitor);
  for (const kind of ['point', 'list'] as const)
    await takeTurns(`${kind} with rules to without`, policyMin, {
      'everybody reads': wrk(reads.path, kind),
      'a condition on rows': wrk(inserts.path, kind),
      'a condition on rows, one on a column': wrk(batches.path, kind),
    });
}

/** What rules and policies cost: the same rows in tables with and without them. */
export async function measurePolicies(prepared: Prepared, tools: Tools, cleanup: Cleanup): Promise<void> {
  // Before there is a connector of the app, which rules do not need.
  await measureRules(prepared, tools, cleanup);
  const { reads, inserts, batches } = prepared;
  const { id: connector_id } = await post(prepared, 'connectors', {
    name: 'Bench',
    slug: 'bench',
    kind: 'tables',
    app: 'bench',
  });
  const policy = (table: string, fields: object) =>
    post(prepared, 'access-policies', {
      name: table,
      connector_id,
      resource_path: `bench/${table}`,
      enforced: true,
      row_filter: 'category=gte.0',
      ...fields,
    });
  await policy('inserts', {});
  await policy('batches', {
    columns: { mode: 'deny', names: ['updated_at'] },
    masks: [{ column: 'price', kind: 'round', args: { to: 10 } }],
  });
  const wrk = wrkOn(prepared, tools, cleanup);
  for (const kind of ['point', 'list'] as const)
    await takeTurns(`${kind} with enforced policies to without`, policyMin, {
      without: wrk(reads.path, kind),
      'a row filter': wrk(inserts.path, kind),
      'a row filter, a mask, a hidden column': wrk(batches.path, kind),
    });
}

/** Rows of a PostgreSQL server behind a connector, over TLS, beside pgbench with the same statement and as many connections. */
export async function measureConnectors(prepared: Prepared, tools: Tools, cleanup: Cleanup): Promise<void> {
  const { server } = prepared;
  const warehouse = await startWarehouse('postgres');
  cleanup.add(() => warehouse.stop());
  await fill(warehouse);
  const login = { user: 'reader', password: readerPassword, database: warehouse.database };
  const { id: connector_id } = await post(prepared, 'connectors', {
    name: 'Warehouse',
    kind: 'postgres',
    connection: {
      host: 'localhost',
      port: warehouse.port,
      database: login.database,
      username: login.user,
      password: login.password,
      tls: 'require',
    },
  });
  await post(prepared, `connectors/${connector_id}/schema/refresh`);
  await post(prepared, 'grants', { subject_id: 'admin@demo.localhost', connector_id, preset_id: 'reader' });
  const path = '/data/demo/_connectors/warehouse/sales/items';
  const database = { ...server, socketFolder: 'localhost', databasePort: warehouse.port, rowsLogin: login };
  for (const kind of ['point', 'list'] as const) {
    const script = await connectorScript(kind, prepared, warehouse, path);
    const pgbench = (time: number) =>
      runPgbench(tools.pgbench, database, script, {
        name: `connector-${kind}`,
        connections: connectorConnections,
        seconds: time,
        cleanup,
      });
    await takeTurns(`${kind} of a connector to pgbench`, connectorMin, {
      pgbench: turn(pgbench, prepared),
      'the connector': wrkOn(prepared, tools, cleanup)(path, kind),
    });
  }
}

const post = ({ server }: Prepared, path: string, body?: object) =>
  server.call<{ id: string }>('POST', `/api/v1/tenants/demo/${path}`, body);

const wrkOn =
  (prepared: Prepared, tools: Tools, cleanup: Cleanup, visitor?: string) =>
  (path: string, kind: Kind): Run => {
    const { server, pat, inserts } = prepared;
    const load = serverLoads({ port: server.port, pat, visitor, reads: path, inserts: inserts.path })[kind];
    const named = { ...load, name: `${load.name}${path.replaceAll('/', '-')}` };
    return turn((time) => runWrk(tools.wrk, server.folder, named, { seconds: time, cleanup }), prepared);
  };

export function turn(
  run: (time: number) => Promise<CountedFigures>,
  { server: { pid, postmaster } }: Prepared,
): Run {
  return (warmUp) =>
    measure(
      { server: pid, postmaster },
      async () => warmUp && run(warmUpSeconds),
      () => run(seconds),
    );
}

/**
 * The first contender is what the others are compared with. They take turns; the median of the rounds' ratios counts, because
 * the load of the machine changes between rounds.
 */
export async function takeTurns(title: string, min: number, contenders: Record<string, Run>): Promise<void> {
  const names = Object.keys(contenders);
  const [base = '', ...others] = names;
  const results: Record<string, Measurement>[] = [];
  for (let round = 0; round < rounds; round++) {
    const figures: Record<string, Measurement> = {};
    for (const name of round % 2 === 0 ? names : names.toReversed())
      figures[name] = await (contenders[name] as Run)(round === 0);
    results.push(figures);
  }
  const median = (values: readonly number[]) => percentile(values, 0.5);
  const of = (name: string, figure: (result: Measurement) => number) =>
    results.flatMap((round) => (round[name] ? [figure(round[name])] : []));
  console.log(`\n${title}: medians of ${rounds} rounds of ${seconds} s`);
  for (const name of names) {
    const cpu = (part: 'serverUs' | 'postgresUs') =>
      median(of(name, (result) => result.cpu[part])).toFixed(0);
    const speed = Math.round(median(of(name, ({ perSecond }) => perSecond))).toLocaleString('en');
    const p50 = median(of(name, ({ p50Ms }) => p50Ms)).toFixed(2);
    console.log(
      `  ${name.padEnd(40)} ${speed}/s, p50 ${p50} ms, ${cpu('serverUs')} + ${cpu('postgresUs')} us`,
    );
  }
  for (const name of others) {
    const ratios = results.flatMap((round) => {
      const [one, other] = [round[name], round[base]];
      return one && other ? [one.perSecond / other.perSecond] : [];
    });
    const ratio = median(ratios);
    const verdict = ratio >= min ? 'PASS' : 'MISS';
    console.log(
      `  ${name} to ${base}: ${ratio.toFixed(2)}, goal >= ${min}: ${verdict}  (${ratios.map((each) => each.toFixed(2)).join(' ')})`,
    );
  }
}

async function fill({ query }: Warehouse): Promise<void> {
  await query(`create table sales.items (id uuid primary key, title text, category int, price float8, active bool,
      meta jsonb, created_at timestamptz, updated_at bigint);
    insert into sales.items select ${idSql('n')}, 'Item number ' || n || ' of a long list of things', n * 7919 % ${categories},
      n % 4000 / 4.0 + 0.1, n % 3 = 0, jsonb_build_object('colour', 'red', 'tags', array['new', 'sold'], 'size', n % 50),
      timestamptz '2026-01-01' + n * interval '1 minute', n from generate_series(1, ${rowCount}) n;
    create index on sales.items (category, created_at, id)`);
  await query('vacuum analyze sales.items');
}

/** The statement that the server really sends, as the other database saw it last. */
async function connectorScript(
  kind: Kind,
  { server, pat }: Prepared,
  warehouse: Warehouse,
  path: string,
): Promise<Script> {
  const id = '00000000-0000-0000-0000-000000000001';
  const query = kind === 'point' ? `/${id}` : '?category=eq.1&sort=-created_at&per_page=20';
  const response = await fetch(`http://127.0.0.1:${server.port}${path}${query}`, {
    headers: { 'x-api-key': pat },
  });
  if (!response.ok) throw new Error(`${kind}: ${response.status} ${await response.text()}`);
  const client = new Client({
    host: '127.0.0.1',
    port: warehouse.port,
    user: 'postgres',
    password: 'secret',
    database: warehouse.database,
  });
  await client.connect();
  const { rows } = await client.query<{ query: string }>(
    "select query from pg_stat_activity where usename = 'reader' and query like '%\"items\"%' order by query_start desc",
  );
  await client.end();
  const [statement] = rows;
  if (!statement) throw new Error('The other database saw no statement.');
  const category = { set: `\\set category random(0, ${categories - 1})`, sql: ':category::int4' };
  return pgbenchScript(statement.query, { uuid: randomId(rowCount), int4: category }, null);
}
