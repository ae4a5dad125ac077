import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientBase } from 'pg';
import pg from 'pg';
import { keepAlive } from './db.ts';
import { projectRoot } from './project-root.ts';
import { sha256 } from './values.ts';

export class MigrationError extends Error {
  constructor(
    readonly code: 'bad_name' | 'changed' | 'out_of_order' | 'failed' | 'locked' | 'newer',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'MigrationError';
  }
}

const lockWaitMsMax = 60_000;
const lockRetryMs = 50;
const lockKey = '8319104478261830';

/** Servers may run this at once and be killed at any point: each file is applied completely and once. */
export async function migrate(options: {
  url: string;
  directory: string;
  log: (line: string) => void;
}): Promise<{ applied: string[] }> {
  const files = readMigrations(options.directory);
  // A migration may rewrite a large table, so statements have no time limit: keep-alive finds a connection that is dead.
  const client = new pg.Client({
    connectionString: options.url,
    connectionTimeoutMillis: 10_000,
    ...keepAlive,
  });
  // The running query rejects with the same error; without a listener, the event would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    await checkClock(client);
    return await withSchemaLock(client, async () => {
      await prepare(client);
      const { rows } = await client.query<Migration>('select name, checksum from svc.migrations');
      const applied = new Map(rows.map(({ name, checksum }) => [name, checksum]));
      const pending = pendingMigrations(files, applied);
      for (const file of pending) {
        await applyWithRetry(client, file);
        options.log(`Applied migration ${file.name}.`);
      }
      return { applied: pending.map((file) => file.name) };
    });
  } finally {
    await client.end().catch(() => {});
  }
}

export async function withSchemaLock<T>(
  client: ClientBase,
  work: () => Promise<T>,
  waitMsMax = lockWaitMsMax,
): Promise<T> {
  const deadline = Date.now() + waitMsMax;
  // Polled: a statement that waits for the lock would hold back vacuum and concurrent index builds.
  while (!(await tryLock(client))) {
    const text = `Another server has held the schema lock for ${waitMsMax / 1000} s.`;
    if (Date.now() > deadline) throw new MigrationError('locked', text);
    await Bun.sleep(lockRetryMs);
  }
  try {
    return await work();
  } finally {
    await client.query('select pg_advisory_unlock($1)', [lockKey]).catch(() => {});
  }
}

export type Migration = ReturnType<typeof readMigrations>[number];

/** Sorted by number. The checksum is over the text with LF line ends, because git may check out CRLF. */
export function readMigrations(directory: string) {
  const names = readdirSync(directory)
    .filter((name) => name.endsWith('.sql'))
    .sort();
  const numbers = new Set<string>();
  return names.map((name) => {
    const number = /^(\d{4})-[a-z0-9-]+\.sql$/.exec(name)?.[1];
    if (!number)
      throw new MigrationError('bad_name', `${name} does not match the pattern 0001-description.sql.`);
    if (numbers.has(number))
      throw new MigrationError('bad_name', `Two migrations have the number ${number}.`);
    numbers.add(number);
    const sql = readFileSync(join(directory, name), 'utf8').replaceAll('\r\n', '\n');
    return { name, sql, checksum: sha256(sql) };
  });
}

async function tryLock(client: ClientBase): Promise<boolean> {
  const text = 'select pg_try_advisory_lock($1) as held';
  return (await client.query<{ held: boolean }>(text, [lockKey])).rows[0]?.held === true;
}

async function prepare(client: ClientBase): Promise<void> {
  await client.query("set lock_timeout = '2s'; set statement_timeout = 0");
  // Lets PostgreSQL cancel the statement and release the lock if this process is killed.
  await client.query("set client_connection_check_interval = '1s'").catch(() => {});
  await client.query(`
    create schema if not exists svc;
    create table if not exists svc.migrations (
      name text primary key,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`);
}

function pendingMigrations(files: Migration[], applied: Map<string, string>): Migration[] {
  const known = new Set(files.map((file) => file.name));
  const newest = [...applied.keys()].sort().at(-1) ?? '';
  const newer = `The database is newer than this program: it has migration ${newest}. Start the version that wrote it, or restore a back-up of this version.`;
  if (newest && !known.has(newest)) throw new MigrationError('newer', newer);
  return files.filter((file) => {
    const checksum = applied.get(file.name);
    if (checksum === file.checksum) return false;
    const edited = `${file.name} was edited after it was applied. Restore it and add a new migration instead.`;
    if (checksum !== undefined) throw new MigrationError('changed', edited);
    // Applied late, it would run against a schema that it was not written for.
    const late = `${file.name} has a lower number than ${newest}, which is already applied.`;
    if (file.name < newest) throw new MigrationError('out_of_order', late);
    return true;
  });
}

/** A migration that waits for a table lock blocks every later query on the table: it gives up after 2 s and retries. */
async function applyWithRetry(client: ClientBase, file: Migration): Promise<void> {
  const deadline = Date.now() + lockWaitMsMax;
  for (;;) {
    try {
      return await apply(client, file);
    } catch (cause) {
      await client.query('rollback').catch(() => {});
      if (cause instanceof MigrationError) throw cause;
      const isLockTimeout = cause instanceof pg.DatabaseError && cause.code === '55P03';
      if (!isLockTimeout || Date.now() > deadline) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new MigrationError('failed', `Migration ${file.name} failed: ${reason}`, { cause });
      }
      await Bun.sleep(lockRetryMs);
    }
  }
}

async function apply(client: ClientBase, file: Migration): Promise<void> {
  await client.query('begin');
  const before = await transactionId(client);
  await client.query(file.sql);
  const ended = `${file.name} ends its transaction. A crash could then leave it half applied.`;
  if ((await transactionId(client)) !== before) throw new MigrationError('failed', ended);
  const insert = 'insert into svc.migrations (name, checksum) values ($1, $2)';
  await client.query(insert, [file.name, file.checksum]);
  await client.query('commit');
}

async function transactionId(client: ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>('select pg_current_xact_id()::text as id');
  return rows[0]?.id;
}

export const migrationsDirectory = join(projectRoot, 'server', 'migrations');

/** Tokens and signed URLs of one server are checked against the clocks of the others. */
export const clockDifferenceMsMax = 30_000;

export async function msAheadOfDatabase(db: Pick<pg.Pool, 'query'>, now: () => number = Date.now) {
  const sentAt = now();
  const { rows } = await db.query<{ ms: number }>(
    'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
  );
  return Math.round((sentAt + now()) / 2 - (rows[0]?.ms ?? 0));
}

export async function checkClock(db: Pick<pg.Pool, 'query'>, now?: () => number): Promise<void> {
  const ahead = await msAheadOfDatabase(db, now);
  if (Math.abs(ahead) <= clockDifferenceMsMax) return;
  const seconds = Math.round(Math.abs(ahead) / 1_000);
  throw new Error(
    `The clock of this machine is ${seconds} s ${ahead > 0 ? 'ahead of' : 'behind'} the database's clock, so valid sign-ins would be refused. Synchronize both with NTP, then start again.`,
  );
}
