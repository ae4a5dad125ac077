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
  /** One statement, committed by itself. `kind` says which it competes with. */
  run(kind: 'read' | 'write', text: string, values: Values, onRow?: OnRow): Promise<QueryResult>;
  /** A connection of its own for the length of the work; rolled back unless the work says to commit. */
  transaction<T>(work: (tx: Transaction) => Promise<{ end: 'commit' | 'rollback'; value: T }>): Promise<T>;
  close(): void;
}

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
      const lane = kind === 'read' ? reads : writes;
      const shared = quickness.isQuick(text) ? lane.next() : null;
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

const sharedDepthMax = 256;
const heldUpMs = 50;

function createLane(options: {
  connections: number;
  open: (onClose: () => void) => Promise<Connection>;
}): Lane {
  const slots: { connection: Connection | null; opening: Promise<Connection> | null }[] = Array.from(
    { length: options.connections },
    () => ({ connection: null, opening: null }),
  );
  let closed = false;

  function opened(slot: (typeof slots)[number]): Promise<Connection> {
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
      });
    return slot.opening;
  }

  return {
    next() {
      let best: Connection | null = null;
      for (const slot of slots) {
        if (!slot.connection) {
          // Opened when there is nobody free; meanwhile others take over.
          if (best === null || best.pending > 0) return opened(slot);
          continue;
        }
        const { connection } = slot;
        if (connection.pending >= sharedDepthMax || connection.headMs() > heldUpMs) continue;
        if (best === null || connection.pending < best.pending) best = connection;
        if (best.pending === 0) break;
      }
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

/** How long statements of the same text have taken of late. One that is not known yet runs alone the first time. */
function createQuickness() {
  const means = new Map<string, number>();
  return {
    isQuick: (text: string) => (means.get(text) ?? Number.POSITIVE_INFINITY) < quickMs,
    note(text: string, ms: number, how: 'alone' | 'shared') {
      const mean = means.get(text);
      if (mean === undefined && means.size >= textsMax) means.clear();
      // Shared, the time holds the wait behind others: only what is far beyond quick counts.
      if (how === 'shared' && ms < quickMs * 10) return;
      means.set(text, mean === undefined || how === 'alone' ? ms : mean * 0.5 + ms * 0.5);
    },
  };
}

export { ConnectionLost };
