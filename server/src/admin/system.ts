import { existsSync } from 'node:fs';
import type { Config } from '../config.ts';
import { clusterFolder } from '../drivers/database/cluster.ts';
import { attachDatabase, type Database } from '../drivers/database/database.ts';
import { migrationsDirectory } from '../migrations-directory.ts';
import { type ControlDatabase, openControlDatabase } from '../plumbing/db.ts';
import { createLog } from '../plumbing/log.ts';
import { migrate, readMigrations } from '../plumbing/migrate.ts';
import type { OperatorParts } from '../plumbing/operator.ts';
import { rowsOnly } from '../plumbing/outbox-rows.ts';
import { fail } from '../plumbing/problem.ts';
import type { AdminCtx } from './command.ts';
import { type AppliedMigration, compareMigrations } from './migration-state.ts';

export interface System extends OperatorParts {
  database: Database;
}

/**
 * The platform without its server: opened for one command, with a schema that this version can work on. It has to be
 * there: a command about what exists that made a new system would have looked in the wrong place.
 */
export async function withSystem<T>(ctx: AdminCtx, work: (system: System) => Promise<T>): Promise<T> {
  requireDatabase(ctx.config());
  return await withSystemOrNew(ctx, work);
}

/** The same for commands that may come before the first start of a server: what is missing is made. */
export async function withSystemOrNew<T>(ctx: AdminCtx, work: (system: System) => Promise<T>): Promise<T> {
  return await withDatabase(ctx, attachDatabase, async (database) => {
    const control = openAdminDatabase(database.controlUrl);
    try {
      await requireSchema(ctx, database, control);
      const log = createLog({ level: 'warn', write: ctx.err });
      return await work({ database, db: control.db, outbox: rowsOnly, log });
    } finally {
      await control.close();
    }
  });
}

/** Beside a running server it is that server's; without one it runs for as long as the work. */
export async function withDatabase<T>(
  ctx: AdminCtx,
  open: typeof attachDatabase,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const told = slowNotes(ctx);
  const database = await open({ ...ctx.config(), log: told.note }).finally(told.end);
  const forget = ctx.onInterrupt(() => database.stopNow());
  try {
    return await work(database);
  } finally {
    forget();
    await database.stop();
  }
}

export function requireDatabase(config: Config): void {
  if (hasDatabase(config)) return;
  throw fail('not_found', {
    detail:
      `There is no database in ${config.dataDir}: set SVC_DATA_DIR to the data dir of the server, ` +
      'or start the server (npm start) to make it.',
  });
}

/** One that is named is taken to exist; it says so itself when it does not. */
export function hasDatabase(config: Config): boolean {
  return config.databaseUrl !== undefined || existsSync(clusterFolder(config.dataDir));
}

/** Under a name of its own: a connection of the tool is not a sign of a running server. */
export function openAdminDatabase(url: string): ControlDatabase {
  return openControlDatabase(adminUrl(url), {
    connectionsMax: 2,
    statementMsMax: 'none',
    onError: () => {},
  });
}

/** What stands in the URL goes before what the program says. */
export function adminUrl(url: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}application_name=svc%20admin`;
}

export async function readAppliedMigrations(control: ControlDatabase): Promise<AppliedMigration[]> {
  const found = await control.pool.query(
    "select from pg_tables where schemaname = 'svc' and tablename = 'migrations'",
  );
  if (found.rowCount === 0) return [];
  const { rows } = await control.pool.query<AppliedMigration>(
    'select name, checksum from svc.migrations order by name',
  );
  return rows;
}

/** An empty database is set up; one of another version is left as it is, since a server may be working on it. */
async function requireSchema(ctx: AdminCtx, database: Database, control: ControlDatabase): Promise<void> {
  const applied = await readAppliedMigrations(control);
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

/** What opening says is worth reading only when one has to wait for it. */
function slowNotes(ctx: AdminCtx): { note: (line: string) => void; end: () => void } {
  const kept: string[] = [];
  let slow = false;
  const timer = setTimeout(() => {
    slow = true;
    for (const line of kept) ctx.note(line);
  }, slowMs);
  return {
    note: (line) => (slow ? ctx.note(line) : void kept.push(line)),
    end: () => clearTimeout(timer),
  };
}
