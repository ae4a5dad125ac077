import { Client } from 'pg';
import { readerPassword, startWarehouse, type Warehouse } from '../../acceptance/support/warehouses.ts';
import type { Cleanup } from './cleanup.ts';
import { categories, idSql, rowCount } from './dataset.ts';
import { serverLoads } from './loads.ts';
import { type Measurement, measure, percentile } from './measure.ts';
import { pgbenchScript, randomId, type Script } from './pgbench-script.ts';
import type { Prepared } from './prepare.ts';
import { runPgbench } from './run-pgbench.ts';
import { runWrk } from './run-wrk.ts';
import type { Tools } from './tools.ts';

const rounds = 7;
const seconds = 3;
const policyMin = 0.9;
const connectorMin = 0.6;
type Kind = 'point' | 'list';
type Run = () => Promise<Measurement>;

/**
 * What policies and connectors cost. Contenders take turns; the median of the rounds' ratios counts, because the load of the
 * machine changes between rounds.
 */
export async function measureGoverned(prepared: Prepared, tools: Tools, cleanup: Cleanup): Promise<void> {
  const { server, pat, reads, inserts, batches } = prepared;
  const post = <T = { id: string }>(path: string, body?: object) =>
    server.call<T>('POST', `/api/v1/tenants/demo/${path}`, body);
  const { id: connector_id } = await post('connectors', {
    name: 'Bench',
    slug: 'bench',
    kind: 'tables',
    app: 'bench',
  });
  const policy = (table: string, fields: object) =>
    post('access-policies', {
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
  const wrk = (path: string, kind: Kind): Run => {
    const load = serverLoads({ port: server.port, pat, reads: path, inserts: inserts.path })[kind];
    const run = (time: number) =>
      runWrk(
        tools.wrk,
        server.folder,
        { ...load, name: `${load.name}-${path.replaceAll('/', '-')}` },
        { seconds: time, cleanup },
      );
    return () => measureTurn(prepared, run);
  };
  for (const kind of ['point', 'list'] as const)
    await takeTurns(`${kind} with enforced policies to without`, policyMin, {
      without: wrk(reads.path, kind),
      'a row filter': wrk(inserts.path, kind),
      'a row filter, a mask, a hidden column': wrk(batches.path, kind),
    });

  const warehouse = await startWarehouse('postgres');
  cleanup.add(() => warehouse.stop());
  await fill(warehouse);
  const connection = {
    host: 'localhost',
    port: warehouse.port,
    database: warehouse.database,
    username: 'reader',
    password: readerPassword,
    tls: 'require',
  };
  const connector = await post('connectors', { name: 'Warehouse', kind: 'postgres', connection });
  await post(`connectors/${connector.id}/schema/refresh`);
  const { user } = await server.call<{ user: { id: string } }>('GET', '/api/v1/me');
  await post('grants', { subject_id: user.id, connector_id: connector.id, preset_id: 'reader' });
  const path = '/data/demo/_connectors/warehouse/sales/items';
  for (const kind of ['point', 'list'] as const) {
    const script = await connectorScript(kind, prepared, warehouse, path);
    const login = { user: 'reader', password: readerPassword, database: warehouse.database };
    const database = { ...server, socketFolder: 'localhost', databasePort: warehouse.port, rowsLogin: login };
    const pgbench = (connections: number): Run => {
      const run = (time: number) =>
        runPgbench(tools.pgbench, database, script, {
          name: `connector-${kind}`,
          connections,
          seconds: time,
          cleanup,
        });
      return () => measureTurn(prepared, run);
    };
    await takeTurns(`${kind} of a connector to pgbench with the same statement`, connectorMin, {
      'pgbench, 4 connections': pgbench(4),
      'the connector, 4 connections': wrk(path, kind),
    });
  }

  function measureTurn({ server: { pid, postmaster } }: Prepared, run: Parameters<typeof turn>[0]) {
    return turn(run, { server: pid, postmaster });
  }
}

function turn(
  run: (time: number) => ReturnType<typeof runWrk>,
  processes: { server: number; postmaster: number },
): Promise<Measurement> {
  return measure(
    processes,
    () => run(1),
    () => run(seconds),
  );
}

/** The first contender is what the others are compared with. */
async function takeTurns(title: string, min: number, contenders: Record<string, Run>): Promise<void> {
  const names = Object.keys(contenders);
  const [base = '', ...others] = names;
  const results: Record<string, Measurement>[] = [];
  for (let round = 0; round < rounds; round++) {
    const results1: Record<string, Measurement> = {};
    for (const name of round % 2 === 0 ? names : names.toReversed())
      results1[name] = await (contenders[name] as Run)();
    results.push(results1);
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
