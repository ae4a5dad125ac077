import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import pg from 'pg';
import type { RunningServer } from './server.ts';

type Rows = Record<string, string[]>;

export type ServerDatabase = ReturnType<typeof openServerDatabase>;

/** Tables that background work changes, with a query for their stable part, or null. */
const movingTables: Readonly<Record<string, string | null>> = {
  // Times of the last run of each schedule.
  'pgboss.version': null,
  'pgboss.schedule': null,
  // Job counts, which pg-boss updates every minute.
  'pgboss.queue': null,
  // Apps of other tests run: their usage, and when they were last seen.
  'svc.app_metrics': null,
  'svc.app_instances': 'select row(id, app_id, deployment_id)::text as row from svc.app_instances order by 1',
  // When each server was last seen.
  'svc.servers': null,
  // Times of requests to apps that may sleep.
  'svc.app_activity': null,
  // Times of row batches; previews count, too.
  'svc_data.batch_times': null,
  // A job looks every minute at files that no row has any more, whose rows other commands deleted.
  'svc.row_files': null,
  'svc_data.released_files': null,
  // An effect creates and drops the database later.
  'svc.raw_databases': `select row(app_id, database, is_closed, connections_max, password_at)::text as row from svc.raw_databases
    where state <> 'dropping' order by 1`,
  // A job checks pending domains.
  'svc.domains':
    'select row(id, app_id, host, token, status, created_at)::text as row from svc.domains order by 1',
  // The built-in git host is a system of its own: it issues a device code before a plan is known to be stale.
  'svc.git_host_device_codes': null,
  // Effects create and deliver hooks of the built-in git host after the change.
  'svc.git_host_hooks': null,
  'svc.git_host_deliveries': null,
  'svc.git_connections': `select row(app_id, host, repo_id, repo, branch, installation_id)::text as row
    from svc.git_connections order by 1`,
  // A queued effect may run or be retried at any moment; its row and payload stay. Schedules create jobs with a
  // singleton key and those of other queues.
  'svc.outbox': 'select row(id, topic, payload, created_at)::text as row from svc.outbox order by 1',
  'pgboss.job_common': `select row(id, name, data, created_on)::text as row from pgboss.job_common
    where name = 'outbox' and singleton_key is null order by 1`,
};

const tablesAtOnce = 200;

/** Effects create hooks; a preview uses up an installation number of the git host. */
const movingSequences = '{git_host_hooks_id_seq,git_host_installations_id_seq}';

/** The URL of the control plane's login, for a second server on the same database. */
export function databaseUrlOf(server: RunningServer): string {
  const folder = encodeURIComponent(join(server.dataDir, 'run'));
  return `postgresql://svc_control:${passwordsOf(server).control}@localhost/svc?host=${folder}&port=5432`;
}

/** Runs statements one after the other as the login of the URL, and returns the rows of the last. */
export async function queryUrl(url: string, ...texts: string[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  // A server that ends takes idle connections along.
  client.on('error', () => {});
  await client.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const text of texts) ({ rows } = await client.query(text));
    return rows;
  } finally {
    await client.end();
  }
}

export async function createDatabase(url: string, prefix: string): Promise<string> {
  const name = `${prefix}_${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}`;
  // As an operator does for databases of apps: no other login may connect.
  await queryUrl(url, `create database ${name}`, `revoke connect on database ${name} from public`);
  return Object.assign(new URL(url), { pathname: `/${name}` }).href;
}

/** Drops a database with the databases of its apps, as a login of another one. */
export async function dropDatabase(adminUrl: string, url: string): Promise<void> {
  // A server that never started has no such table.
  const apps = await queryUrl(url, 'select database from svc.raw_databases').catch(() => []);
  await queryUrl(
    adminUrl,
    ...apps.flatMap(({ database }) => [
      `drop database if exists ${database} with (force)`,
      `drop role if exists ${database}`,
    ]),
    `drop database if exists ${new URL(url).pathname.slice(1)} with (force)`,
  );
}

export async function queryDatabase(server: RunningServer, text: string, values: unknown[] = []) {
  const database = openServerDatabase(server);
  return database.query(text, values).finally(() => database.close());
}

interface KnownTable {
  version: string;
  rows: string[];
}

interface Connection {
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

function connectUrl(url: string): Connection {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  return { query: async (text, values) => (await pool.query(text, values)).rows, close: () => pool.end() };
}

function connectEmbedded(server: RunningServer): Connection {
  const sql = new SQL({
    adapter: 'postgres',
    path: join(server.dataDir, 'run', '.s.PGSQL.5432'),
    username: 'postgres',
    password: passwordsOf(server).superuser,
    database: 'svc',
    max: 1,
  });
  return {
    query: async (text, values = []) => [...(await sql.unsafe(text, values))],
    close: () => sql.close(),
  };
}

/** The database of a server; the embedded one as its superuser. */
export function openServerDatabase(server: RunningServer) {
  const url = server.env.SVC_DATABASE_URL;
  const { query, close } = url ? connectUrl(url) : connectEmbedded(server);
  const all: Reader = { instead: {}, known: new Map() };
  const still: Reader = { instead: movingTables, known: new Map() };

  /** One query for many tables: each is read hundreds of times. */
  async function ofEach(names: readonly string[], value: (name: string) => string) {
    const found: [name: string, value: string][] = [];
    for (let at = 0; at < names.length; at += tablesAtOnce) {
      const reads = names
        .slice(at, at + tablesAtOnce)
        .map((name) => `select '${name}' as name, (${value(name)})::text as value`);
      for (const { name, value: text } of await query(reads.join(' union all ')))
        found.push([String(name), String(text)]);
    }
    return found;
  }

  type Reader = { instead: Readonly<Record<string, string | null>>; known: Map<string, KnownTable> };

  /** Reads the tables that have changed: a row that is written has the number of a later transaction. */
  async function read({ instead, known }: Reader): Promise<Rows> {
    const tables = await query(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
    );
    const names = tables.map(({ name }) => String(name)).filter((name) => instead[name] !== null);
    // `only`, because partitions are listed on their own.
    const versions = new Map(
      await ofEach(
        names,
        (name) => `select count(*) || ' ' || coalesce(sum(xmin::text::bigint), 0) from only ${name}`,
      ),
    );
    const changed = names.filter((name) => known.get(name)?.version !== versions.get(name));
    const rowsOf = (name: string) => instead[name] ?? `select t::text from only ${name} t order by 1`;
    for (const [name, rows] of await ofEach(changed, (name) => `to_json(array(${rowsOf(name)}))`))
      known.set(name, { version: versions.get(name) ?? '', rows: JSON.parse(rows) });
    const found: Rows = Object.fromEntries(names.map((name) => [name, known.get(name)?.rows ?? []]));
    const sequences = await query(
      `select s::text as row from pg_sequences s where sequencename <> all ('${movingSequences}') order by 1`,
    );
    return { ...found, sequences: sequences.map(({ row }) => String(row)) };
  }

  /** Of one moment: background work commits an effect and its job together. */
  async function readAtOnce(reader: Reader): Promise<Rows> {
    await query('begin isolation level repeatable read read only');
    return await read(reader).finally(() => query('commit'));
  }

  return {
    query,
    rows: () => readAtOnce(all),
    /** Every table without what background work changes. */
    state: () => readAtOnce(still),
    close,
  };
}

/** The tables whose rows differ, with the removed and the added rows. */
export function difference(before: Rows, after: Rows): Record<string, { gone: string[]; come: string[] }> {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const differing = names.map((name) => {
    const [old, fresh] = [before[name] ?? [], after[name] ?? []];
    if (old === fresh) return [name, { gone: [], come: [] }] as const;
    const [was, is] = [new Set(old), new Set(fresh)];
    const found = { gone: old.filter((row) => !is.has(row)), come: fresh.filter((row) => !was.has(row)) };
    return [name, found] as const;
  });
  return Object.fromEntries(differing.filter(([, { gone, come }]) => gone.length + come.length > 0));
}

function passwordsOf(server: RunningServer): { superuser: string; control: string } {
  return JSON.parse(readFileSync(join(server.dataDir, 'postgres.json'), 'utf8'));
}

interface SetApp {
  runtime: 'none' | 'running' | 'suspended';
  is_deployed: boolean;
  resource_preset: string;
  visibility: 'private' | 'invite_only' | 'public' | 'internet';
}

/** Sets the state that a deployment would leave, directly in the database. */
export async function setApp(server: RunningServer, app: string, set: Partial<SetApp>): Promise<void> {
  const columns = Object.keys(set).map((name, at) => `${name} = $${at + 2}`);
  await queryDatabase(server, `update svc.apps set ${columns} where id = $1`, [app, ...Object.values(set)]);
}
