import { sqlState } from '../../plumbing/database-errors.ts';
import { type Connection, connect, type OnRow, type QueryResult, type Values } from './connection.ts';

/** Where apps' rows are. */
export interface RowDatabase {
  /** For one app: none may take up more than its part of the connections. */
  of(app: string): AppRows;
  close(): void;
}

/** Statements that stand alone, and transactions. */
export interface AppRows {
  /** One statement, committed by itself. */
  run(kind: StatementKind, text: string, values: Values, onRow?: OnRow): Promise<QueryResult>;
  /** A connection of its own for the length of the work; rolled back unless the work says to commit. */
  transaction<T>(work: (tx: Transaction) => Promise<{ end: 'commit' | 'rollback'; value: T }>): Promise<T>;
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

/** On a shared connection nothing runs longer, so that nobody waits longer behind it. */
const sharedMsMax = 250;
const pooledMax = 16;
/** Of the pooled ones, by one app. */
const pooledPerAppMax = 8;

/**
 * Short statements share few connections, sent behind one another without waiting: that is what makes them fast. A
 * statement goes there only while its like has been quick, is broken off when it turns out not to be, and is then run
 * again on a connection of its own, as all others are.
 */
export function createRowDatabase(options: RowDatabaseOptions): RowDatabase {
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
  // One connection for reads is quicker than several where cores are few; commits wait for the disk, and share the wait.
  const reads = createLane({ connections: 1, open: openShared });
  const writes = createLane({ connections: 8, open: openShared });
  const pool = createPool({
    connectionsMax: pooledMax,
    perAppMax: pooledPerAppMax,
    waitMsMax: options.waitMsMax ?? 5_000,
    open: (onClose) => open(onClose, options.statementMsMax, options.transactionStatementMsMax + 2_000),
  });
  const quickness = createQuickness();

  async function shared(
    lane: Lane,
    text: string,
    values: Values,
    onRow: OnRow | undefined,
  ): Promise<QueryResult | 'not quick'> {
    const connection = lane.next();
    if (!connection) return 'not quick';
    let rows = 0;
    const counted: OnRow | undefined =
      onRow &&
      ((bytes, start) => {
        rows++;
        onRow(bytes, start);
      });
    try {
      return await (await connection).query(text, values, counted);
    } catch (error) {
      // Broken off by our own limit, with nothing done and nothing shown yet: then it may be run again.
      if (sqlState(error) !== '57014' || rows > 0) throw error;
      quickness.note(text, sharedMs);
      return 'not quick';
    }
  }

  const run = async (
    app: string,
    kind: StatementKind,
    text: string,
    values: Values,
    onRow?: OnRow,
  ): Promise<QueryResult> => {
    if (quickness.isQuick(text, kind)) {
      const result = await shared(kind === 'write' ? writes : reads, text, values, onRow);
      if (result !== 'not quick') return result;
    }
    return pool.use(app, async (connection) => {
      const begun = performance.now();
      try {
        return await connection.query(text, values, onRow);
      } finally {
        quickness.note(text, performance.now() - begun);
      }
    });
  };

  const transaction = <T>(
    app: string,
    work: (tx: Transaction) => Promise<{ end: 'commit' | 'rollback'; value: T }>,
  ): Promise<T> =>
    pool.use(app, async (connection) => {
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
    });

  return {
    of: (app) => ({
      run: (kind, text, values, onRow) => run(app, kind, text, values, onRow),
      transaction: (work) => transaction(app, work),
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

interface Waiting {
  app: string;
  take: (connection: Connection | null) => void;
}

function createPool(options: {
  connectionsMax: number;
  perAppMax: number;
  waitMsMax: number;
  open: (onClose: () => void) => Promise<Connection>;
}) {
  const idle: Connection[] = [];
  const waiting: Waiting[] = [];
  const inUse = new Map<string, number>();
  let made = 0;
  let closed = false;

  const hasRoom = (app: string) => (inUse.get(app) ?? 0) < options.perAppMax;
  const count = (app: string, by: 1 | -1) => {
    const now = (inUse.get(app) ?? 0) + by;
    if (now === 0) inUse.delete(app);
    else inUse.set(app, now);
  };

  /** Counted for the app from here on. */
  async function acquire(app: string): Promise<Connection> {
    if (hasRoom(app)) {
      count(app, 1);
      const connection = idle.findLast((each) => each.isOpen);
      idle.splice(0, idle.length, ...idle.filter((each) => each !== connection && each.isOpen));
      if (connection) return connection;
      if (made < options.connectionsMax) return openOne(app);
      count(app, -1);
    }
    const { promise, resolve } = Promise.withResolvers<Connection | null>();
    const place: Waiting = { app, take: resolve };
    waiting.push(place);
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(place), 1);
      resolve(null);
    }, options.waitMsMax);
    const connection = await promise;
    clearTimeout(timer);
    if (connection === null) throw new Error('timeout exceeded when trying to connect');
    return connection.isOpen ? connection : openOne(app);
  }

  async function openOne(app: string): Promise<Connection> {
    made++;
    try {
      return await options.open(() => void made--);
    } catch (error) {
      made--;
      count(app, -1);
      throw error;
    }
  }

  function release(app: string, connection: Connection): void {
    count(app, -1);
    const at = waiting.findIndex((place) => hasRoom(place.app));
    const [next] = at < 0 ? [] : waiting.splice(at, 1);
    if (closed) connection.close();
    else if (next) {
      count(next.app, 1);
      next.take(connection);
    } else if (connection.isOpen) idle.push(connection);
  }

  return {
    async use<T>(app: string, work: (connection: Connection) => Promise<T>): Promise<T> {
      const connection = await acquire(app);
      try {
        return await work(connection);
      } finally {
        release(app, connection);
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

/** How long statements of the same text took when last alone. A read of many rows runs alone until that is known. */
function createQuickness() {
  const times = new Map<string, number>();
  return {
    isQuick: (text: string, kind: StatementKind) =>
      (times.get(text) ?? (kind === 'read' ? Number.POSITIVE_INFINITY : 0)) < quickMs,
    note(text: string, ms: number) {
      if (!times.has(text) && times.size >= textsMax) times.clear();
      times.set(text, ms);
    },
  };
}
