import {
  type Connection,
  ConnectionLost,
  connect,
  type OnRow,
  type QueryResult,
  type Values,
} from './connection.ts';

/** Where apps' rows are: statements that stand alone, and transactions. */
export interface RowDatabase {
  /** One statement, committed by itself. */
  run(kind: StatementKind, text: string, values: Values, onRow?: OnRow): Promise<QueryResult>;
  /** A connection of its own for the length of the work; rolled back unless the work says to commit. */
  transaction<T>(work: (tx: Transaction) => Promise<{ end: 'commit' | 'rollback'; value: T }>): Promise<T>;
  close(): void;
}

/** `point`: a read by a key, which is quick whatever the table holds. */
export type StatementKind = 'point' | 'read' | 'write';

export interface Transaction {
  query(text: string, values: Values, onRow?: OnRow): Promise<QueryResult>;
  copy(text: string, data: readonly Uint8Array[]): Promise<void>;
}

export interface RowDatabaseOptions {
  url: string;
  statementMsMax: number;
  /** Of one transaction's statements, for batches. */
  transactionStatementMsMax: number;
  /** Nobody is left waiting longer for a connection. */
  waitMsMax?: number;
}

/**
 * Short statements share few connections, sent behind one another without waiting: that is what makes them fast.
 * Nothing may make them wait behind a long one, so a statement goes there only while its like has been quick; all
 * others have a connection to themselves.
 */
export function createRowDatabase(options: RowDatabaseOptions): RowDatabase {
  const settings = {
    timezone: 'UTC',
    datestyle: 'ISO',
    jit: 'off',
    statement_timeout: String(options.statementMsMax),
    idle_in_transaction_session_timeout: '60000',
  };
  const open = (onClose: () => void, answerMsMax: number) =>
    connect({ url: options.url, settings, answerMsMax, onClose });
  const answerMsMax = options.statementMsMax + 2_000;
  // One connection for reads is quicker than several where cores are few; commits wait for the disk, and share the wait.
  const reads = createLane({ connections: 1, open: (onClose) => open(onClose, answerMsMax) });
  const writes = createLane({ connections: 8, open: (onClose) => open(onClose, answerMsMax) });
  const pool = createPool({
    connectionsMax: 12,
    waitMsMax: options.waitMsMax ?? 5_000,
    open: (onClose) => open(onClose, options.transactionStatementMsMax + 2_000),
  });
  const quickness = createQuickness();

  return {
    async run(kind, text, values, onRow) {
      const begun = performance.now();
      const lane = kind === 'write' ? writes : reads;
      const shared = quickness.isQuick(text, kind) ? lane.next() : null;
      if (shared) {
        const result = await (await shared).query(text, values, onRow);
        quickness.note(text, performance.now() - begun, 'shared');
        return result;
      }
      return pool.use(async (connection) => {
        const started = performance.now();
        const result = await connection.query(text, values, onRow);
        quickness.note(text, performance.now() - started, 'alone');
        return result;
      });
    },
    transaction: (work) =>
      pool.use(async (connection) => {
        await connection.query('begin', []);
        let ended = false;
        try {
          const { end, value } = await work(connection);
          await connection.query(end, []);
          ended = true;
          return value;
        } finally {
          // Awaited: the connection goes to the next only when it is clean.
          if (!ended) await connection.query('rollback', []).catch(() => connection.close());
        }
      }),
    close() {
      reads.close();
      writes.close();
      pool.close();
    },
  };
}

interface Lane {
  /** A connection to share; null when all are held up by something long. */
  next(): Promise<Connection> | null;
  close(): void;
}

interface Slot {
  connection: Connection | null;
  opening: Promise<Connection> | null;
  /** Who waits for it to open. */
  waiting: number;
}

const sharedDepthMax = 256;
const heldUpMs = 50;

function createLane(options: {
  connections: number;
  open: (onClose: () => void) => Promise<Connection>;
}): Lane {
  const slots: Slot[] = Array.from({ length: options.connections }, () => ({
    connection: null,
    opening: null,
    waiting: 0,
  }));
  let closed = false;

  function opened(slot: Slot): Promise<Connection> {
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
        if (connection.pending >= sharedDepthMax || connection.headMs() > heldUpMs) continue;
        if (best === null || connection.pending < best.pending) best = connection;
        if (best.pending === 0) break;
      }
      // One more is opened when nobody is free.
      if (unopened && (best === null || best.pending > 0)) return opened(unopened);
      return best ? Promise.resolve(best) : null;
    },
    close() {
      closed = true;
      for (const slot of slots) slot.connection?.close();
    },
  };
}

function createPool(options: {
  connectionsMax: number;
  waitMsMax: number;
  open: (onClose: () => void) => Promise<Connection>;
}) {
  const idle: Connection[] = [];
  const waiting: { take: (connection: Connection | null) => void }[] = [];
  let made = 0;
  let closed = false;

  async function acquire(): Promise<Connection> {
    for (;;) {
      const connection = idle.pop();
      if (!connection) break;
      if (connection.isOpen) return connection;
    }
    if (made < options.connectionsMax) return openOne();
    const { promise, resolve } = Promise.withResolvers<Connection | null>();
    const place = { take: resolve };
    waiting.push(place);
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(place), 1);
      resolve(null);
    }, options.waitMsMax);
    const connection = await promise;
    clearTimeout(timer);
    if (connection === null) throw new Error('timeout exceeded when trying to connect');
    return connection.isOpen ? connection : openOne();
  }

  async function openOne(): Promise<Connection> {
    made++;
    try {
      return await options.open(() => void made--);
    } catch (error) {
      made--;
      throw error;
    }
  }

  function release(connection: Connection): void {
    const next = waiting.shift();
    if (closed) connection.close();
    else if (next) next.take(connection);
    else if (connection.isOpen) idle.push(connection);
  }

  return {
    async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
      const connection = await acquire();
      try {
        return await work(connection);
      } finally {
        release(connection);
      }
    },
    close() {
      closed = true;
      for (const connection of idle) connection.close();
    },
  };
}

const quickMs = 15;
const textsMax = 2_000;

/** How long statements of the same text have taken of late. A read of many rows runs alone until that is known. */
function createQuickness() {
  const means = new Map<string, number>();
  return {
    isQuick: (text: string, kind: StatementKind) =>
      (means.get(text) ?? (kind === 'read' ? Number.POSITIVE_INFINITY : 0)) < quickMs,
    note(text: string, ms: number, how: 'alone' | 'shared') {
      // Shared, the time holds the wait behind others: only what is far beyond quick counts.
      if (how === 'shared' && ms < quickMs * 10) return;
      const mean = means.get(text);
      if (mean === undefined && means.size >= textsMax) means.clear();
      means.set(text, mean === undefined || how === 'alone' ? ms : mean * 0.5 + ms * 0.5);
    },
  };
}

export { ConnectionLost };
