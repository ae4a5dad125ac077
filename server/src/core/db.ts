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

export function openControlDatabase(
  url: string,
  options: {
    connectionsMax: number;
    isStarting?: boolean;
    statementMsMax?: number | 'none';
    /** Multiplies the time limits. */
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
    keepAlive: true,
    // The client-side timeout is for networks that drop packets silently.
    query_timeout: limit === 'none' ? undefined : limit + 2_000,
    statement_timeout: limit === 'none' ? undefined : limit,
    lock_timeout: lockMsMax * patience,
    idle_in_transaction_session_timeout: idleInTransactionMsMax * patience,
    application_name: 'svc control',
    options: '-c search_path=svc,public -c pg_trgm.word_similarity_threshold=0.4',
    types: { getTypeParser },
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

/** Reads int8 as a number: the control database has only sequence numbers and counts, far below 2^53. */
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === pg.types.builtins.INT8) return Number;
  // Audit hashes are over the text of the json column `changes`, so it must come back unparsed.
  if (oid === pg.types.builtins.JSON) return (value) => value;
  return format === 'binary' ? pg.types.getTypeParser(oid, 'binary') : pg.types.getTypeParser(oid, 'text');
}

/** Of an exception whose text is for the caller. */
export const refusalState = 'SV001';

/** Maps a database error to a Failure. Its text goes only to the log, because it may contain row values. */
export function databaseError(error: unknown): Failure | null {
  const code = sqlState(error);
  if (code === null) return isConnectionError(error) ? fail('unavailable', {}, { cause: error }) : null;
  if (code === refusalState && error instanceof Error)
    return fail('runtime_unsupported', { detail: error.message }, { cause: error });
  if (code === '57014') return fail('query_timeout', {}, { cause: error });
  if (code === '22021' || code === '22P05') return fail('validation_failed', {}, { cause: error });
  if (code === '23505') return fail('unique_violation', {}, { cause: error });
  // 08 connection, 53 resources (disk full, too many connections), 57P admin shutdown, 40 deadlock or serialization,
  // 55P03 lock timeout, 25P03/25P04 transaction timeouts, 58030 input/output.
  if (/^(08|53|57P|40|55P03|25P03|25P04|58030)/.test(code)) return fail('unavailable', {}, { cause: error });
  return null;
}

export function isRetryable(error: unknown): boolean {
  const code = sqlState(error);
  return code === '40001' || code === '40P01';
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
  return /Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered|not queryable|pool after calling end/i.test(
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
