import { sqlState } from '../../core/db.ts';
import { type Connection, connect, type OnRow, type QueryResult, type Values } from './connection.ts';
import { createPool } from './connection-pool.ts';

export interface RowPool {
  of(app: string): AppRows;
  close(): void;
}

export interface AppRows {
  /** `receive` is called for each attempt: a slow statement is run again from its start. */
  run(kind: StatementKind, text: string, values: Values, receive?: () => OnRow): Promise<QueryResult>;
  transaction<T>(work: (tx: Transaction) => Promise<{ end: 'commit' | 'rollback'; value: T }>): Promise<T>;
}

export type StatementKind = 'point' | 'read' | 'write';

export interface Transaction {
  query(text: string, values: Values, onRow?: OnRow): Promise<QueryResult>;
  copy(text: string, data: readonly Uint8Array[]): Promise<void>;
  /** Reads a large result in pieces; one at a time. */
  cursor(text: string, values: Values): Promise<Cursor>;
}

export interface Cursor {
  fetch(rowsMax: number, onRow: OnRow): Promise<void>;
}

export interface RowPoolOptions {
  url: string;
  statementMsMax: number;
  transactionStatementMsMax: number;
  waitMsMax?: number;
}

/** Statement timeout on shared connections, which bounds the wait of the statements behind it. */
const sharedMsMax = 250;
/** Larger ones would delay the statements behind them. */
const sharedBytesMax = 64 * 1024;
const pooledMax = 16;
const pooledPerAppMax = 8;

/**
 * A statement uses a shared, pipelined connection only while statements with the same text have been fast. A
 * slow one is cancelled and run again on a pooled connection.
 */
export function createRowPool(options: RowPoolOptions): RowPool {
  const open = (onClose: () => void, statementMsMax: number, answerMsMax: number) =>
    connect({
      url: options.url,
      settings: {
        timezone: 'UTC',
        datestyle: 'ISO',
        jit: 'off',
        statement_timeout: String(statementMsMax),
        idle_in_transaction_session_timeout: '60000',
      },
      answerMsMax,
      onClose,
    });
  const sharedMs = Math.min(sharedMsMax, options.statementMsMax);
  const openShared = (onClose: () => void) => open(onClose, sharedMs, sharedMs + 2_000);
  // On few cores one connection for reads is faster than several; writes wait for the disk, in parallel.
  const reads = createSharedConnections({ connections: 1, open: openShared });
  const writes = createSharedConnections({ connections: 8, open: openShared });
  const pool = createPool({
    connectionsMax: pooledMax,
    perAppMax: pooledPerAppMax,
    waitMsMax: options.waitMsMax ?? 5_000,
    open: (onClose) => open(onClose, options.statementMsMax, options.transactionStatementMsMax + 2_000),
  });
  const durations = createDurations();

  async function shared(
    connections: SharedConnections,
    text: string,
    values: Values,
    receive: (() => OnRow) | undefined,
  ): Promise<QueryResult | 'too slow'> {
    const connection = connections.next();
    if (!connection) return 'too slow';
    try {
      return await (await connection).query(text, values, receive?.());
    } catch (error) {
      // Cancelled by the shared timeout, without effect: it can be run again.
      if (sqlState(error) !== '57014') throw error;
      durations.record(text, sharedMs);
      return 'too slow';
    }
  }

  const run = async (
    app: string,
    kind: StatementKind,
    text: string,
    values: Values,
    receive?: () => OnRow,
  ): Promise<QueryResult> => {
    if (isSmall(values) && durations.isFast(text, kind)) {
      const result = await shared(kind === 'write' ? writes : reads, text, values, receive);
      if (result !== 'too slow') return result;
    }
    return pool.use(app, async (connection) => {
      const startedAt = performance.now();
      try {
        return await connection.query(text, values, receive?.());
      } finally {
        durations.record(text, performance.now() - startedAt);
      }
    });
  };

  const transaction = <T>(
    app: string,
    work: (tx: Transaction) => Promise<{ end: 'commit' | 'rollback'; value: T }>,
  ): Promise<T> =>
    pool.use(app, async (connection) => {
      await connection.query('begin', []);
      let isFinished = false;
      try {
        const { end, value } = await work(withCursor(connection));
        await connection.query(end, []);
        isFinished = true;
        return value;
      } finally {
        // Awaited, so that the next user gets a connection without an open transaction.
        if (!isFinished) await connection.query('rollback', []).catch(() => connection.close());
      }
    });

  return {
    of: (app) => ({
      run: (kind, text, values, receive) => run(app, kind, text, values, receive),
      transaction: (work) => transaction(app, work),
    }),
    close() {
      reads.close();
      writes.close();
      pool.close();
    },
  };
}

/** A cursor of SQL, which ends with the transaction. */
export function withCursor(connection: Pick<Connection, 'query' | 'copy'>): Transaction {
  return {
    query: connection.query,
    copy: connection.copy,
    async cursor(text, values) {
      await connection.query(`declare fetched no scroll cursor for ${text}`, values);
      return {
        fetch: async (rowsMax, onRow) =>
          void (await connection.query(`fetch ${rowsMax} from fetched`, [], onRow)),
      };
    },
  };
}

function isSmall(values: Values): boolean {
  let bytes = 0;
  for (const value of values) bytes += value?.length ?? 0;
  return bytes <= sharedBytesMax;
}

interface SharedConnections {
  next(): Promise<Connection> | null;
  close(): void;
}

interface Slot {
  connection: Connection | null;
  opening: Promise<Connection> | null;
  waiting: number;
}

const sharedQueueMax = 256;
const blockedMs = 50;

function createSharedConnections(options: {
  connections: number;
  open: (onClose: () => void) => Promise<Connection>;
}): SharedConnections {
  const slots: Slot[] = Array.from({ length: options.connections }, () => ({
    connection: null,
    opening: null,
    waiting: 0,
  }));
  let closed = false;

  function openSlot(slot: Slot): Promise<Connection> {
    slot.waiting++;
    slot.opening ??= options
      .open(() => {
        slot.connection = null;
      })
      .then((connection) => {
        if (closed) connection.close();
        slot.connection = connection.isOpen ? connection : null;
        return connection;
      })
      .finally(() => {
        slot.opening = null;
        slot.waiting = 0;
      });
    return slot.opening;
  }

  return {
    next() {
      let best: Connection | null = null;
      let unopened: Slot | null = null;
      for (const slot of slots) {
        const { connection } = slot;
        if (!connection) {
          if (unopened === null || slot.waiting < unopened.waiting) unopened = slot;
          continue;
        }
        if (connection.pending >= sharedQueueMax || connection.headMs() > blockedMs) continue;
        if (best === null || connection.pending < best.pending) best = connection;
        if (best.pending === 0) break;
      }
      if (unopened && (best === null || best.pending > 0)) return openSlot(unopened);
      return best ? Promise.resolve(best) : null;
    },
    close() {
      closed = true;
      for (const slot of slots) slot.connection?.close();
    },
  };
}

const fastMs = 15;
const textsMax = 2_000;

function createDurations() {
  const times = new Map<string, number>();
  return {
    isFast: (text: string, kind: StatementKind) =>
      (times.get(text) ?? (kind === 'read' ? Number.POSITIVE_INFINITY : 0)) < fastMs,
    record(text: string, ms: number) {
      if (!times.has(text) && times.size >= textsMax) times.clear();
      times.set(text, ms);
    },
  };
}
