import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg, { type ClientBase } from 'pg';

export type MigrationErrorCode = 'bad_name' | 'changed' | 'out_of_order' | 'failed' | 'locked';

export class MigrationError extends Error {
  readonly code: MigrationErrorCode;

  constructor(code: MigrationErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'MigrationError';
    this.code = code;
  }
}

const lockWaitMsMax = 60_000;
const lockRetryMs = 50;
// 'svc' and 'schema' as ASCII; advisory locks are numbers.
const lockKey = '8319104478261830';

/**
 * Brings the schema `svc` to the newest file of the directory. Any number of servers may do so at once, and any of
 * them may be killed at any point: each file takes effect whole and once.
 */
export async function migrate(options: {
  url: string;
  directory: string;
  log: (line: string) => void;
}): Promise<{ applied: string[] }> {
  const files = readMigrations(options.directory);
  const client = new pg.Client({ connectionString: options.url, connectionTimeoutMillis: 10_000 });
  // The query under way fails with the same error; unheard, the event would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return await withSchemaLock(client, async () => {
      await prepare(client);
      const pending = pendingOf(files, await readApplied(client), options.log);
      for (const file of pending) {
        await applyPatiently(client, file);
        options.log(`Applied migration ${file.name}.`);
      }
      return { applied: pending.map((file) => file.name) };
    });
  } finally {
    await client.end().catch(() => {});
  }
}

/** One server at a time changes the schema. The lock belongs to the connection, so it can't outlive its holder. */
export async function withSchemaLock<T>(
  client: ClientBase,
  work: () => Promise<T>,
  waitMsMax = lockWaitMsMax,
): Promise<T> {
  const deadline = Date.now() + waitMsMax;
  // Asked again and again rather than waited for: a waiting statement holds back vacuum and index builds.
  while (!(await tryLock(client))) {
    if (Date.now() > deadline) {
      throw new MigrationError(
        'locked',
        `Another server has been changing the schema for ${waitMsMax / 1000} s.`,
      );
    }
    await Bun.sleep(lockRetryMs);
  }
  try {
    return await work();
  } finally {
    // When the connection is lost, so is the lock, and the error of the work is the one to report.
    await client.query('select pg_advisory_unlock($1)', [lockKey]).catch(() => {});
  }
}

export interface Migration {
  name: string;
  sql: string;
  checksum: string;
}

/** In their order; the checksum is over the text with plain line ends. */
export function readMigrations(directory: string): Migration[] {
  const names = readdirSync(directory)
    .filter((name) => name.endsWith('.sql'))
    .sort();
  const numbers = new Set<string>();
  return names.map((name) => {
    const number = /^(\d{4})-[a-z0-9-]+\.sql$/.exec(name)?.[1];
    if (!number) throw new MigrationError('bad_name', `${name} is not named like 0001-what-it-does.sql.`);
    if (numbers.has(number))
      throw new MigrationError('bad_name', `Two migrations have the number ${number}.`);
    numbers.add(number);
    // Git may check files out with other line ends.
    const sql = readFileSync(join(directory, name), 'utf8').replaceAll('\r\n', '\n');
    return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
  });
}

async function tryLock(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [
    lockKey,
  ]);
  return rows[0]?.held === true;
}

async function prepare(client: ClientBase): Promise<void> {
  await client.query("set lock_timeout = '2s'; set statement_timeout = 0");
  // If we are killed, the statement under way should end and free the lock. Not every system can tell; there it
  // is freed when the statement is done.
  await client.query("set client_connection_check_interval = '1s'").catch(() => {});
  await client.query(`
    create schema if not exists svc;
    create table if not exists svc.migrations (
      name text primary key,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`);
}

async function readApplied(client: ClientBase): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'select name, checksum from svc.migrations',
  );
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

function pendingOf(
  files: Migration[],
  applied: Map<string, string>,
  log: (line: string) => void,
): Migration[] {
  const known = new Set(files.map((file) => file.name));
  const newest = [...applied.keys()].sort().at(-1) ?? '';
  // Copies are renewed one after the other, so an older one may start on the newer one's schema.
  if (newest && !known.has(newest))
    log(`The database is newer than this server: it has migration ${newest}.`);
  return files.filter((file) => {
    const checksum = applied.get(file.name);
    if (checksum === file.checksum) return false;
    if (checksum !== undefined) {
      throw new MigrationError(
        'changed',
        `${file.name} was changed after it was applied: add a new migration instead.`,
      );
    }
    // Applied late it would meet a schema it was not written for.
    if (file.name < newest) {
      throw new MigrationError(
        'out_of_order',
        `${file.name} comes before ${newest}, which is applied already.`,
      );
    }
    return true;
  });
}

/** A table in use may hold a migration up, and one that waits holds up everyone behind it: so it gives way and retries. */
async function applyPatiently(client: ClientBase, file: Migration): Promise<void> {
  const deadline = Date.now() + lockWaitMsMax;
  for (;;) {
    try {
      return await apply(client, file);
    } catch (cause) {
      await client.query('rollback').catch(() => {});
      if (cause instanceof MigrationError) throw cause;
      const waited = cause instanceof pg.DatabaseError && cause.code === '55P03';
      if (!waited || Date.now() > deadline) {
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
  if ((await transactionId(client)) !== before) {
    throw new MigrationError(
      'failed',
      `${file.name} ends its transaction: a crash could then leave half of it.`,
    );
  }
  await client.query('insert into svc.migrations (name, checksum) values ($1, $2)', [
    file.name,
    file.checksum,
  ]);
  await client.query('commit');
}

async function transactionId(client: ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>('select pg_current_xact_id()::text as id');
  return rows[0]?.id;
}
