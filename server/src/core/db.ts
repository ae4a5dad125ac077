import { type ControlledTransaction, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { type Failure, fail } from './problem.ts';

// biome-ignore lint/complexity/noBannedTypes: tables are added by each slice.
export type Db = Kysely<{}>;
// biome-ignore lint/complexity/noBannedTypes: as above.
export type Tx = ControlledTransaction<{}>;

export interface ControlDatabase {
  db: Db;
  pool: pg.Pool;
  endStartup(): void;
  close(): Promise<void>;
}

const statementMsMax = 5_000;
const lockMsMax = 2_000;
const idleInTransactionMsMax = 10_000;
const connectMsMax = 4_000;
const firstConnectMsMax = 30_000;

/** Without a delay, the kernel sends the first probe after two hours. */
export const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const;

export function openControlDatabase(
  url: string,
  options: {
    connectionsMax: number;
    isStarting?: boolean;
    statementMsMax?: number | 'none';
    patience?: number;
    onError: (error: Error) => void;
  },
): ControlDatabase {
  const patience = options.patience ?? 1;
  const limit = options.statementMsMax ?? statementMsMax * patience;
  const pool = new pg.Pool({
    connectionString: url,
    max: options.connectionsMax,
    connectionTimeoutMillis: options.isStarting ? firstConnectMsMax : connectMsMax * patience,
    idleTimeoutMillis: 30_000,
    ...keepAlive,
    // The client-side timeout is for networks that drop packets silently.
    query_timeout: limit === 'none' ? undefined : limit + 2_000,
    statement_timeout: limit === 'none' ? undefined : limit,
    lock_timeout: lockMsMax * patience,
    idle_in_transaction_session_timeout: idleInTransactionMsMax * patience,
    application_name: 'svc control',
    options: '-c search_path=svc,public -c pg_trgm.word_similarity_threshold=0.4',
    types: { getTypeParser },
    Client: preparingClient(),
  });
  let isClosing = false;
  // Without a listener, an idle connection that the database closes would end the process.
  pool.on('error', (error) => {
    if (!isClosing) options.onError(error);
  });
  pool.on('connect', (client) => client.on('error', () => {}));
  // biome-ignore lint/complexity/noBannedTypes: see Db.
  const db = new Kysely<{}>({ dialect: new PostgresDialect({ pool }) }).withSchema('svc');
  const endStartup = () => {
    pool.options.connectionTimeoutMillis = connectMsMax * patience;
  };
  const close = () => {
    isClosing = true;
    return db.destroy();
  };
  return { db, pool, endStartup, close };
}

const usesBeforePreparation = 5;
/** In each connection, a prepared statement takes tens of kilobytes of the database's memory. */
const preparedMax = 200;
const countedMax = 2_000;

/** Parsing and planning take longer than executing. A text without parameters may be several statements: not prepared. */
function preparingClient() {
  const uses = new Map<string, number>();
  const names = new Map<string, string>();
  let named = 0;
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known !== undefined || names.size >= preparedMax) return known;
    const count = (uses.get(text) ?? 0) + 1;
    if (uses.size >= countedMax) uses.clear();
    if (count <= usesBeforePreparation) {
      uses.set(text, count);
      return undefined;
    }
    uses.delete(text);
    const name = `s${++named}`;
    names.set(text, name);
    return name;
  };
  return class PreparingClient extends pg.Client {
    // biome-ignore lint/suspicious/noExplicitAny: as the overloads of the driver.
    override query(text: any, values?: any, callback?: any): any {
      const isRepeatable = typeof text === 'string' && Array.isArray(values) && values.length > 0;
      const name = isRepeatable && callback === undefined ? nameOf(text) : undefined;
      if (name === undefined) return super.query(text, values, callback);
      const wasInTransaction = this.getTransactionStatus() !== 'I';
      return super.query({ name, text, values }).catch((error: unknown) => {
        if (!isStalePlan(error)) throw error;
        names.clear();
        if (wasInTransaction) throw error;
        return super.query(text, values);
      });
    }
  };
}

/** The columns of a result have changed since the statement was prepared: a newer server has migrated the database. */
function isStalePlan(error: unknown): boolean {
  return (
    error instanceof pg.DatabaseError && error.code === '0A000' && error.routine === 'RevalidateCachedQuery'
  );
}

/** Reads int8 as a number: the control database has only sequence numbers and counts, far below 2^53. */
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === pg.types.builtins.INT8) return Number;
  // Audit hashes are over the text of the json column `changes`, so it must come back unparsed.
  if (oid === pg.types.builtins.JSON) return (value) => value;
  return format === 'binary' ? pg.types.getTypeParser(oid, 'binary') : pg.types.getTypeParser(oid, 'text');
}

/** SQLSTATE of an exception whose text is for the caller. */
export const refusalState = 'SV001';

/** Maps a database error to a Failure. Its text goes only to the log, because it may contain row values. */
export function databaseError(error: unknown): Failure | null {
  const code = sqlState(error);
  if (code === null) return isConnectionError(error) ? fail('unavailable', {}, { cause: error }) : null;
  if (code === refusalState && error instanceof Error)
    return fail('runtime_unsupported', { detail: error.message }, { cause: error });
  if (isStalePlan(error)) return fail('unavailable', {}, { cause: error });
  if (code === '57014') return fail('query_timeout', {}, { cause: error });
  if (code === '22021' || code === '22P05') return fail('validation_failed', {}, { cause: error });
  if (code === '23505') return fail('unique_violation', {}, { cause: error });
  // 08 connection, 53 resources (disk full, too many connections), 57P admin shutdown, 40 deadlock or serialization,
  // 55P03 lock timeout, 25P03/25P04 transaction timeouts, 58030 input/output.
  if (/^(08|53|57P|40|55P03|25P03|25P04|58030)/.test(code)) return fail('unavailable', {}, { cause: error });
  if (code === 'XX000' && isLostWorker(error)) return fail('unavailable', {}, { cause: error });
  return null;
}

/** A worker of Citus ended during a transaction: the coordinator has no code for that. */
const isLostWorker = (error: unknown) =>
  error instanceof Error &&
  /^(failure on connection marked as essential|could not commit transaction for shard|SSL SYSCALL error|server closed the connection|connection not open)/.test(
    error.message,
  );

export function isRetryable(error: unknown): boolean {
  const code = sqlState(error);
  return code === '40001' || code === '40P01' || isStalePlan(error);
}

export function sqlState(error: unknown): string | null {
  // Socket errors have codes too, and EPIPE looks like an SQLSTATE: only errors of PostgreSQL have a severity.
  if (!(error instanceof Error) || !('severity' in error) || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

/** Driver errors have no code: their messages are matched; `syscall` distinguishes a socket's ENOENT from a file's. */
function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if (syscall !== undefined && /^(ECONN|EPIPE|ENOENT|ETIMEDOUT|EHOSTUNREACH)/.test(code))
    return ['connect', 'read', 'write'].includes(syscall);
  if (/^(ECONN|EPIPE|ETIMEDOUT)/.test(code)) return true;
  return /Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered|not queryable|pool after calling end/i.test(
    error.message,
  );
}

const readinessCachedMs = 1_000;

export function createReadiness(probe: () => Promise<void>, isEnding: () => boolean): () => Promise<boolean> {
  let last: { at: number; isReady: Promise<boolean> } | null = null;
  return async () => {
    if (isEnding()) return false;
    if (!last || performance.now() - last.at > readinessCachedMs) {
      const isReady = probe().then(
        () => true,
        () => false,
      );
      last = { at: performance.now(), isReady };
    }
    return last.isReady;
  };
}

export interface LoggedStatement {
  text: string;
  values?: readonly string[];
}

/** The error of the work is thrown, not one of the rollback. */
export async function inTransaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  const tx = await db.startTransaction().execute();
  try {
    const value = await work(tx);
    await tx.commit().execute();
    return value;
  } catch (error) {
    await rollBackQuietly(tx);
    throw error;
  }
}

export async function rollBackQuietly(tx: Tx): Promise<void> {
  await tx
    .rollback()
    .execute()
    .catch(() => {});
}

const savepoint = /(?:^|; )(rollback to |release )?savepoint (\w+)$/;

/** Records what a transaction did, so that another one can do it again. */
export class StatementLog {
  #statements: LoggedStatement[] = [];
  #savepoints: { name: string; length: number }[] = [];

  add(statement: LoggedStatement): void {
    const [isSavepoint, change, name = ''] = savepoint.exec(statement.text) ?? [];
    if (isSavepoint !== undefined) this.#moveSavepoint(change, name);
    // Timeouts are those of the transaction that has them.
    else if (!statement.text.startsWith('set local ')) this.#statements.push(statement);
  }

  #moveSavepoint(change: string | undefined, name: string): void {
    if (change === undefined) {
      this.#savepoints.push({ name, length: this.#statements.length });
      return;
    }
    const at = this.#savepoints.findLastIndex((each) => each.name === name);
    if (change === 'rollback to ') this.#statements.length = this.#savepoints[at]?.length ?? 0;
    // After a rollback, the savepoint itself is still there.
    this.#savepoints.length = change === 'rollback to ' ? at + 1 : Math.max(at, 0);
  }

  list(): readonly LoggedStatement[] {
    return this.#statements.some(({ text }) => !text.startsWith('lock table ')) ? this.#statements : [];
  }
}
