import { existsSync } from 'node:fs';
import type pg from 'pg';
import type { Config } from '../config.ts';
import { type ControlDatabase, openControlDatabase } from '../core/db.ts';
import { createLog } from '../core/log.ts';
import { withMasterKey } from '../core/master-key.ts';
import { type Migration, migrate, migrationsDirectory, readMigrations } from '../core/migrate.ts';
import { rowsOnlyOutbox } from '../core/outbox-worker.ts';
import { fail } from '../core/problem.ts';
import { clusterFolder } from '../drivers/database/cluster.ts';
import { attachDatabase, type Database } from '../drivers/database/database.ts';
import type { AdminCtx, System } from './command.ts';

export async function withSystem<T>(ctx: AdminCtx, work: (system: System) => Promise<T>): Promise<T> {
  requireDatabase(ctx.config());
  return await withSystemOrNew(ctx, work);
}

export async function withSystemOrNew<T>(ctx: AdminCtx, work: (system: System) => Promise<T>): Promise<T> {
  if (ctx.batch?.system) return work(ctx.batch.system);
  const { system, close } = await openSystem(ctx);
  if (ctx.batch) {
    Object.assign(ctx.batch, { system, close });
    return work(system);
  }
  return work(system).finally(close);
}

async function openSystem(ctx: AdminCtx): Promise<{ system: System; close(): Promise<void> }> {
  const { database, stop } = await openForCommand(ctx, attachDatabase);
  const { masterKeyFile } = ctx.config();
  const control = openAdminDatabase(database.controlUrl);
  const close = () => control.close().finally(stop);
  try {
    await requireSchema(ctx, database, control);
  } catch (error) {
    await close();
    throw error;
  }
  const log = createLog({ level: 'warn', write: ctx.err });
  const events = async () => (await import('../modules.ts')).collectEvents(ctx.config());
  return {
    system: { database, db: withMasterKey(control.db, masterKeyFile), outbox: rowsOnlyOutbox, log, events },
    close,
  };
}

export async function withDatabase<T>(
  ctx: AdminCtx,
  open: typeof attachDatabase,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const { database, stop } = await openForCommand(ctx, open);
  return work(database).finally(stop);
}

async function openForCommand(ctx: AdminCtx, open: typeof attachDatabase) {
  const delayed = delayNotes(ctx);
  const database = await open({ ...ctx.config(), log: delayed.note }).finally(delayed.end);
  const forget = ctx.onInterrupt(() => database.stopNow());
  const stop = async () => {
    forget();
    await database.stop();
  };
  return { database, stop };
}

export function requireDatabase(config: Config): void {
  if (hasDatabase(config)) return;
  throw fail('not_found', {
    detail:
      `There is no database in ${config.dataDir}: set SVC_DATA_DIR to the data dir of the server, ` +
      'or start the server (npm start) to create it.',
  });
}

export function hasDatabase(config: Config): boolean {
  return config.databaseUrl !== undefined || existsSync(clusterFolder(config.dataDir));
}

export function openAdminDatabase(url: string): ControlDatabase {
  // An operator's command may wait longer than a request.
  const options = { connectionsMax: 2, statementMsMax: 'none', patience: 10, onError: () => {} } as const;
  return openControlDatabase(adminUrl(url), options);
}

/** Has an application name of its own, because the server's connections are signs of a running server. */
export function adminUrl(url: string, application = 'svc admin'): string {
  return `${url}${url.includes('?') ? '&' : '?'}application_name=${encodeURIComponent(application)}`;
}

type Connection = pg.Pool | pg.ClientBase;

export async function hasTable(connection: Connection, name: string): Promise<boolean> {
  return (await connection.query('select where to_regclass($1) is not null', [name])).rowCount === 1;
}

export async function readAppliedMigrations(connection: Connection): Promise<AppliedMigration[]> {
  if (!(await hasTable(connection, 'svc.migrations'))) return [];
  const query = 'select name, checksum from svc.migrations order by name';
  return (await connection.query<AppliedMigration>(query)).rows;
}

/** Migrates an empty database only, because a server may be using one of another version. */
async function requireSchema(ctx: AdminCtx, database: Database, control: ControlDatabase): Promise<void> {
  const applied = await readAppliedMigrations(control.pool);
  const { pending } = compareMigrations(readMigrations(migrationsDirectory), applied);
  if (pending.length === 0) return;
  if (applied.length > 0) {
    throw fail('invalid_state_transition', {
      detail: `The database lacks ${pending.join(', ')}: run svc-admin migrate, or start the server.`,
    });
  }
  await migrate({ url: database.controlUrl, directory: migrationsDirectory, log: ctx.note });
}

const slowMs = 700;

function delayNotes(ctx: AdminCtx): { note: (line: string) => void; end: () => void } {
  const lines: string[] = [];
  let isSlow = false;
  const timer = setTimeout(() => {
    isSlow = true;
    for (const line of lines) ctx.note(line);
  }, slowMs);
  return {
    note: (line) => (isSlow ? ctx.note(line) : void lines.push(line)),
    end: () => clearTimeout(timer),
  };
}

type AppliedMigration = Pick<Migration, 'name' | 'checksum'>;

export function compareMigrations(files: readonly Migration[], applied: readonly AppliedMigration[]) {
  const known = new Map(files.map((file) => [file.name, file.checksum]));
  const done = new Set(applied.map((migration) => migration.name));
  return {
    pending: files.filter((file) => !done.has(file.name)).map((file) => file.name),
    changed: applied
      .filter(({ name, checksum }) => known.has(name) && known.get(name) !== checksum)
      .map((migration) => migration.name),
    unknown: applied.filter(({ name }) => !known.has(name)).map((migration) => migration.name),
  };
}
