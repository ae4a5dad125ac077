import { type ControlledTransaction, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';

/**
 * The control plane's database. Slices add the types of their own tables with `withTables`, so that no file lists
 * all tables and no slice reads another's.
 */
// biome-ignore lint/complexity/noBannedTypes: no tables known here, which is the point.
export type Db = Kysely<{}>;
// biome-ignore lint/complexity/noBannedTypes: as above.
export type Tx = ControlledTransaction<{}>;

export interface ControlDatabase {
  db: Db;
  pool: pg.Pool;
  /** Requests are answered from now on: nobody waits long for a connection any more. */
  isStarted(): void;
  close(): Promise<void>;
}

const statementMsMax = 5_000;
const lockMsMax = 2_000;
const idleInTransactionMsMax = 10_000;
const connectMsMax = 4_000;
/** A machine that has just begun to work is slow; to give up then would end the server. */
const firstConnectMsMax = 30_000;

export function openControlDatabase(
  url: string,
  options: {
    connectionsMax: number;
    /** `patient`: until it is told that it is started. */
    connecting?: 'patient';
    /** For the operator's tool, which nobody waits behind, there is none. */
    statementMsMax?: number | 'none';
    onError: (error: Error) => void;
  },
): ControlDatabase {
  const limit = options.statementMsMax ?? statementMsMax;
  const pool = new pg.Pool({
    connectionString: url,
    max: options.connectionsMax,
    connectionTimeoutMillis: options.connecting === 'patient' ? firstConnectMsMax : connectMsMax,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    // The server's own limit does not help when the network is cut without a word.
    ...(limit === 'none' ? {} : { query_timeout: limit + 2_000, statement_timeout: limit }),
    lock_timeout: lockMsMax,
    idle_in_transaction_session_timeout: idleInTransactionMsMax,
    application_name: 'svc control',
    // Tables are named with their schema; operators of extensions can not be. A letter wrong in six is forgiven.
    options: '-c search_path=svc,public -c pg_trgm.word_similarity_threshold=0.4',
    types: { getTypeParser },
  });
  let isClosing = false;
  // Without a listener, a connection that the server ends while idle would end the process. Those that we close
  // ourselves may be ended from there at the same moment, when the database stops with us: that is no loss.
  pool.on('error', (error) => {
    if (!isClosing) options.onError(error);
  });
  // The same for one that is lost while a transaction holds it, between two of its statements: the next one fails.
  pool.on('connect', (client) => client.on('error', () => {}));
  // biome-ignore lint/complexity/noBannedTypes: see Db.
  const db = new Kysely<{}>({ dialect: new PostgresDialect({ pool }) }).withSchema('svc');
  const isStarted = () => {
    pool.options.connectionTimeoutMillis = connectMsMax;
  };
  const close = () => {
    isClosing = true;
    return db.destroy();
  };
  return { db, pool, isStarted, close };
}

/** int8 as a number: the control plane's only ones are sequence numbers and counts, far below 2^53. */
function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === pg.types.builtins.INT8) return Number;
  // Audit hashes are over the text of `changes`: it must come back as it was written.
  if (oid === pg.types.builtins.JSON) return (value) => value;
  return format === 'binary' ? pg.types.getTypeParser(oid, 'binary') : pg.types.getTypeParser(oid, 'text');
}
