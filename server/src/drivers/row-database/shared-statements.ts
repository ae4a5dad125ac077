import { sqlState } from '../../core/db.ts';
import {
  type Connection,
  ConnectionLost,
  GroupAborted,
  type OnRow,
  type QueryResult,
  type Values,
} from './connection.ts';
import { RowTooLarge } from './messages.ts';
import type { StatementKind } from './row-pool.ts';

type Shared = Pick<
  Connection,
  'query' | 'queryInGroup' | 'groupWeight' | 'pending' | 'headMs' | 'isOpen' | 'close'
>;
type Open = (onClose: () => void, statementMsMax: number) => Promise<Shared>;

/** Statement timeout on shared connections, which bounds the wait of the statements behind it. */
const sharedMsMax = 250;
/** Larger ones would delay the statements behind them. */
const sharedBytesMax = 64 * 1024;
/** Four in a group: the first one's answer may wait for the others, and each may take almost `fastMs`. */
const listWeight = 4;

interface Statement {
  kind: StatementKind;
  text: string;
  values: Values;
  receive?: (() => OnRow) | undefined;
}

export interface RunOptions {
  share?: <T>(work: () => Promise<T>) => Promise<T>;
  runAlone: (work: (connection: Pick<Connection, 'query'>) => Promise<QueryResult>) => Promise<QueryResult>;
}

/** Only texts whose statements have been fast are shared. A slow one is cancelled, and `runAlone` runs it again. */
export function createSharedStatements(options: {
  open: Open;
  statementMsMax: number;
  readConnections: number;
  writeConnections: number;
  /** A connection whose first statement runs for longer gets no others. */
  blockedMs: number;
}) {
  const sharedMs = Math.min(sharedMsMax, options.statementMsMax);
  const open = (onClose: () => void) => options.open(onClose, sharedMs);
  const { readConnections, writeConnections, blockedMs } = options;
  const reads = createSharedConnections({ connections: readConnections, open, blockedMs });
  const writes = createSharedConnections({ connections: writeConnections, open, blockedMs });
  const durations = createDurations();
  const refusals = createRefusals();

  async function runShared(
    statement: Statement,
    { attempt = 1, isAlone = false } = {},
  ): Promise<QueryResult | 'too slow'> {
    const { kind, text, values, receive } = statement;
    const isRead = kind === 'read' || kind === 'point';
    const inGroup = kind !== 'write' && !isAlone && !refusals.isRecent(text);
    const connection = (isRead ? reads : writes).next(inGroup && !isRead);
    if (!connection) return 'too slow';
    try {
      const shared = connection instanceof Promise ? await connection : connection;
      if (!inGroup) return await shared.query(text, values, receive?.());
      return await shared.queryInGroup(text, values, receive?.(), kind === 'read' ? listWeight : 1);
    } catch (error) {
      // Without effect, so it can run again, alone.
      if (error instanceof GroupAborted) return runShared(statement, { attempt, isAlone: true });
      // The large row ended the connection for all: next time this statement runs alone.
      if (error instanceof RowTooLarge) durations.record(text, sharedMs);
      // A read can be repeated, and many lose a shared connection at once.
      if (error instanceof ConnectionLost && isRead)
        return attempt === 1 ? runShared(statement, { attempt: 2, isAlone }) : 'too slow';
      if (inGroup) refusals.record(text);
      // Cancelled by the shared timeout, without effect: it can be run again.
      if (sqlState(error) !== '57014') throw error;
      durations.record(text, sharedMs);
      return 'too slow';
    }
  }

  return {
    async run(statement: Statement, { share, runAlone }: RunOptions): Promise<QueryResult> {
      const { kind, text, values, receive } = statement;
      if (isSmall(values) && durations.isFast(text, kind)) {
        const result = await (share ? share(() => runShared(statement)) : runShared(statement));
        if (result !== 'too slow') return result;
      }
      return runAlone(async (connection) => {
        const startedAt = performance.now();
        const result = await connection.query(text, values, receive?.());
        // One that failed or was cancelled is not fast because it ended soon.
        durations.record(text, performance.now() - startedAt);
        return result;
      });
    },
    openReads: async () => void (await reads.next(false)),
    close() {
      reads.close();
      writes.close();
    },
  };
}

function isSmall(values: Values): boolean {
  let bytes = 0;
  for (const value of values) bytes += value?.length ?? 0;
  return bytes <= sharedBytesMax;
}

interface SharedConnections {
  /** Not a promise where it is open. */
  next(joins: boolean): Shared | Promise<Shared> | null;
  close(): void;
}

interface Slot {
  connection: Shared | null;
  opening: Promise<Shared> | null;
  waiting: number;
}

const sharedQueueMax = 256;

function createSharedConnections(options: {
  connections: number;
  blockedMs: number;
  open: (onClose: () => void) => Promise<Shared>;
}): SharedConnections {
  const slots: Slot[] = Array.from({ length: options.connections }, () => ({
    connection: null,
    opening: null,
    waiting: 0,
  }));
  let closed = false;

  function openSlot(slot: Slot): Promise<Shared> {
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
    next(joins) {
      if (closed) return null;
      const joined = joins
        ? slots.find(({ connection }) => connection && connection.groupWeight > 0)
        : undefined;
      if (joined?.connection) return joined.connection;
      let best: Shared | null = null;
      let unopened: Slot | null = null;
      for (const slot of slots) {
        const { connection } = slot;
        if (!connection) {
          if (unopened === null || slot.waiting < unopened.waiting) unopened = slot;
          continue;
        }
        if (connection.pending >= sharedQueueMax || connection.headMs() > options.blockedMs) continue;
        if (best === null || connection.pending < best.pending) best = connection;
        if (best.pending === 0) break;
      }
      if (unopened && (best === null || best.pending > 0)) return openSlot(unopened);
      return best;
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

const refusalMs = 10_000;

/** A statement that fails makes the others of its group run twice, so the next ones with the same text run alone for a while. */
function createRefusals() {
  const times = new Map<string, number>();
  return {
    isRecent: (text: string) =>
      times.size > 0 && performance.now() - (times.get(text) ?? Number.NEGATIVE_INFINITY) < refusalMs,
    record(text: string) {
      if (times.size >= textsMax) times.clear();
      times.set(text, performance.now());
    },
  };
}
