import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import type { RunningServer } from './server.ts';
import { until } from './until.ts';

/** Every row of every table as text, by table. */
export type Rows = Record<string, string[]>;

/** The embedded PostgreSQL behind a server, looked at as its superuser. */
export interface BehindServer {
  /** All that a change could touch: without what the queue keeps up by itself. */
  state(): Promise<Rows>;
  /** Everything. */
  rows(): Promise<Rows>;
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Resolves when no effect of an earlier change is still to be carried out. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Written by pg-boss on its own clock, whether anybody changes anything or not. */
const queueBookkeeping: Record<string, string> = {
  'pgboss.version': 'when it last looked at its schedule',
  'pgboss.queue': 'how many jobs each queue has, counted every minute',
  'pgboss.schedule': 'the last job of each schedule',
};
/** The rows of jobs that a schedule made begin so; jobs for effects of a change stay in the comparison. */
const scheduledJob = /^\([0-9a-f-]+,(?:__pgboss__|grants\.expire|oauth\.expire|idempotency\.forget|outbox\.)/;

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

  async function rows(): Promise<Rows> {
    const tables = await query(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
    );
    const found: Rows = {};
    for (const { name } of tables as { name: string }[]) {
      // "only": a partition is listed by itself.
      const all = await query(`select t::text as row from only ${name} t order by 1`);
      found[name] = all.map(({ row }) => String(row));
    }
    const sequences = await query('select s::text as row from pg_sequences s order by 1');
    found.sequences = sequences.map(({ row }) => String(row));
    return found;
  }

  return {
    rows,
    query,
    async state() {
      const kept = Object.entries(await rows()).filter(
        ([name]) => !(name in queueBookkeeping) && !name.startsWith('pgboss.queue_stats'),
      );
      return Object.fromEntries(
        kept.map(([name, list]) => [
          name,
          name.startsWith('pgboss.job') ? list.filter((row) => !scheduledJob.test(row)) : list,
        ]),
      );
    },
    async settled() {
      await until('the effects of earlier changes are carried out', async () => {
        const [open] = await query(
          `select (select count(*) from svc.outbox where done_at is null)
                + (select count(*) from pgboss.job where name = 'outbox' and state < 'completed') as n`,
        );
        return Number(open?.n) === 0;
      });
    },
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
