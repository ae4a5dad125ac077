import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import type { RunningServer } from './server.ts';

/** Every row of every table as text, by table. */
export type Rows = Record<string, string[]>;

/** The embedded PostgreSQL behind a server, looked at as its superuser. */
export interface BehindServer {
  /** All that a change could touch: every table, without what moves by itself. */
  state(): Promise<Rows>;
  /** Every table as it is. */
  rows(): Promise<Rows>;
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** What moves although nobody changes anything, by table: how the rest of it is read, or null for none of it. */
const movingTables: Readonly<Record<string, string | null>> = {
  // When pg-boss last looked at its schedules, and the last job of each.
  'pgboss.version': null,
  'pgboss.schedule': null,
  // How many jobs each queue has; pg-boss counts every minute.
  'pgboss.queue': null,
  // When an app has sent batches of rows; one that is only previewed is work, too, and counts.
  'svc_data.batch_times': null,
  // An effect makes and drops the database itself; that one is wanted is what a change changes.
  'svc.raw_databases': `select row(app_id, database, is_closed, connections_max, password_at)::text as row from svc.raw_databases
    where state <> 'dropping' order by 1`,
  // The clock looks at those that wait, whoever else does.
  'svc.domains':
    'select row(id, app_id, host, token, status, created_at)::text as row from svc.domains order by 1',
  // The built-in git host is another system, which happens to be here. It is asked for a code, and about one, before a
  // plan is known to be stale: that leaves a trace there.
  'svc.git_host_device_codes': null,
  // Hooks of the built-in git host are made and told by effects, after the change that they follow from.
  'svc.git_host_hooks': null,
  'svc.git_host_deliveries': null,
  'svc.git_connections': `select row(app_id, host, repo_id, repo, branch, installation_id)::text as row
    from svc.git_connections order by 1`,
  // An effect that was queued before may be carried out, tried again or woken up at any moment; that it is there,
  // and what it is to do, stays. Jobs with a singleton key are made by schedules, those of other queues as well.
  'svc.outbox': 'select row(id, topic, payload, created_at)::text as row from svc.outbox order by 1',
  'pgboss.job_common': `select row(id, name, data, created_on)::text as row from pgboss.job_common
    where name = 'outbox' and singleton_key is null order by 1`,
};

const tablesAtOnce = 200;

/** Hooks are made by effects; a tenant that is previewed has a number at the git host, which does not come back. */
const movingSequences = '{git_host_hooks_id_seq,git_host_installations_id_seq}';

/** The URL of the control plane's login, for a second server on the same database. */
export function databaseUrlOf(server: RunningServer): string {
  const folder = encodeURIComponent(join(server.dataDir, 'run'));
  return `postgresql://svc_control:${passwordsOf(server).control}@localhost/svc?host=${folder}&port=5432`;
}

export function behind(server: RunningServer): BehindServer {
  const sql = new SQL({
    adapter: 'postgres',
    path: join(server.dataDir, 'run', '.s.PGSQL.5432'),
    username: 'postgres',
    password: passwordsOf(server).superuser,
    database: 'svc',
    max: 1,
  });
  const query = async (text: string, values: unknown[] = []) =>
    [...(await sql.unsafe(text, values))] as Record<string, unknown>[];

  async function read(instead: Readonly<Record<string, string | null>>): Promise<Rows> {
    const tables = await query(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
    );
    const reads = (tables as { name: string }[])
      // "only": a partition is listed by itself.
      .map(({ name }) => [
        name,
        name in instead ? instead[name] : `select t::text from only ${name} t order by 1`,
      ])
      .filter(([, text]) => text)
      .map(([name, text]) => `select '${name}' as name, to_json(array(${text}))::text as rows`);
    const found: Rows = {};
    // Many tables with one question: each is looked at hundreds of times.
    for (let at = 0; at < reads.length; at += tablesAtOnce) {
      const answers = await query(reads.slice(at, at + tablesAtOnce).join(' union all '));
      for (const { name, rows } of answers) found[String(name)] = JSON.parse(String(rows));
    }
    const sequences = await query(
      `select s::text as row from pg_sequences s where sequencename <> all ('${movingSequences}') order by 1`,
    );
    return { ...found, sequences: sequences.map(({ row }) => String(row)) };
  }

  return {
    query,
    rows: () => read({}),
    state: () => read(movingTables),
    close: () => sql.close(),
  };
}

/** The tables whose rows differ, each with what went and what came. */
export function difference(before: Rows, after: Rows): Record<string, { gone: string[]; come: string[] }> {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const differing = names.map((name) => {
    const [old, fresh] = [before[name] ?? [], after[name] ?? []];
    const [was, is] = [new Set(old), new Set(fresh)];
    const found = { gone: old.filter((row) => !is.has(row)), come: fresh.filter((row) => !was.has(row)) };
    return [name, found] as const;
  });
  return Object.fromEntries(differing.filter(([, { gone, come }]) => gone.length + come.length > 0));
}

function passwordsOf(server: RunningServer): { superuser: string; control: string } {
  return JSON.parse(readFileSync(join(server.dataDir, 'postgres.json'), 'utf8'));
}
