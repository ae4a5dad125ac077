import { fail } from '../../core/problem.ts';
import type { AppRows, Transaction } from '../../drivers/row-database/row-pool.ts';
import {
  changesBytesMax,
  changesPerPage,
  changesRestCount,
  changesSql,
  type FeedPosition,
  type FeedPositions,
  isLater,
  snapshotSql,
} from './feed-changes.ts';
import type { Snapshot } from './feed-hub.ts';
import { JsonRows, readValues } from './formats.ts';
import type { ListPlan } from './plan.ts';
import { exportSql } from './sql.ts';
import { idJson } from './upsert-rows.ts';

export type FeedPlan = Pick<ListPlan, 'table' | 'output' | 'where'> & {
  /** The key of the id in the output. */
  idKey: string;
  /** A hash of the access and the parameters of the caller. */
  binding: string;
};

export type ChangeStream = ReturnType<typeof createChangeStream>;

interface StreamOptions {
  plan: FeedPlan;
  rowDb: AppRows;
  positions: FeedPositions;
  isSnapshot: boolean;
  lastEventId: string | null;
  heartbeatMs: number;
  isCurrent(): Promise<boolean>;
  onSent(rows: number): void;
}

/** A client that reads slower than this is disconnected; it can resume. */
const bufferedBytesMax = 4 * 1024 * 1024;
const stalledMsMax = 20_000;
const rowsPerFetch = 256;

/** The events of one connection: the rows, then what changes. Ends when the caller no longer sees what they saw. */
export function createChangeStream(options: StreamOptions) {
  const { plan, rowDb, positions } = options;
  const { table, output, binding } = plan;
  const idType = table.catalogue.idColumn.type;
  const strategy = new ByteLengthQueuingStrategy({ highWaterMark: bufferedBytesMax });
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({}, strategy, strategy);
  const writer = writable.getWriter();
  const started = Promise.withResolvers<void>();
  const ended: (() => void)[] = [];
  let isEnded = false;
  let isReady = false;
  let position: FeedPosition | null = null;
  let target: Snapshot | null = null;
  let isReading = false;
  let isChecking = false;
  let heartbeat: Timer | undefined;
  writer.closed.catch(() => end());

  function end(error?: unknown): void {
    if (isEnded) return;
    isEnded = true;
    clearInterval(heartbeat);
    for (const leave of ended) leave();
    if (error !== undefined) started.reject(error);
    else started.resolve();
    // An orderly end: what was sent is complete, and the client resumes after it.
    writer.close().catch(() => {});
  }

  async function send(bytes: Uint8Array): Promise<void> {
    await withStallTimeout(writer.ready);
    if (isEnded) throw new Error('The stream has ended.');
    void writer.write(bytes).catch(() => {});
  }

  const idOf = (at: FeedPosition) => positions.write(at, binding);

  function sendHeartbeat(): void {
    const id = position && isReady && !isReading ? `id: ${idOf(position)}\n` : '';
    void send(Buffer.from(`: heartbeat\n${id}\n`)).catch(() => end());
  }

  async function begin(): Promise<void> {
    const { lastEventId } = options;
    if (lastEventId !== null && lastEventId !== '') {
      const now = await takeSnapshot(rowDb);
      position = positions.read(lastEventId, binding, now.takenAt);
      // The files of the database were restored from before it was written.
      if (position && isLater(position.from, now.text)) position = null;
      if (position) {
        await send(Buffer.from(': resumed\n\n'));
        started.resolve();
        await readTo(now);
        return sendReady();
      }
      await send(Buffer.from('event: reset\ndata: {}\n\n'));
    }
    if (options.isSnapshot) await sendRows();
    else {
      const now = await takeSnapshot(rowDb);
      position = { from: now.text, to: null, seq: null, takenAt: now.takenAt };
    }
    started.resolve();
    await sendReady();
  }

  async function sendReady(): Promise<void> {
    if (!position) return;
    const types = Object.fromEntries(output.columns.map(({ key, column }) => [key, column.type]));
    await send(Buffer.from(`event: ready\nid: ${idOf(position)}\ndata: ${JSON.stringify({ types })}\n\n`));
    isReady = true;
    void read();
  }

  async function sendRows(): Promise<void> {
    await rowDb.transaction(async (tx) => {
      await tx.query('set transaction isolation level repeatable read, read only', []);
      const now = await takeSnapshot({ run: (_, text, values) => tx.query(text, values) });
      await sendSnapshot(tx);
      position = { from: now.text, to: null, seq: null, takenAt: now.takenAt };
      return { end: 'rollback', value: undefined };
    });
  }

  async function sendSnapshot(tx: Transaction): Promise<void> {
    const sort = [{ column: table.order, descending: false }];
    const { text, values } = exportSql({ ...plan, distinct: [], sort, after: null, page: 1, perPage: 0 });
    const cursor = await tx.cursor(text, values);
    for (;;) {
      const events = new JsonRows(64 * 1024);
      let rows = 0;
      await cursor.fetch(rowsPerFetch, (bytes, start) => {
        events.text('event: row\ndata: ');
        events.row(output.shape, bytes, start);
        events.text('\n\n');
        rows++;
      });
      if (rows > 0) await sendAllowed(events.written(), rows);
      started.resolve();
      if (rows < rowsPerFetch) return;
    }
  }

  async function sendAllowed(bytes: Uint8Array, rows: number): Promise<void> {
    if (!(await options.isCurrent())) throw fail('not_found');
    await send(bytes);
    options.onSent(rows);
  }

  async function read(): Promise<void> {
    if (isReading || isEnded || !isReady) return;
    isReading = true;
    try {
      while (target && position && isLater(target.text, position.from) && !isEnded) await readTo(target);
    } catch {
      end();
    } finally {
      isReading = false;
    }
  }

  async function readTo(to: Snapshot): Promise<void> {
    // A resumed stream first completes what it was in the middle of.
    if (position?.to != null) await readPages(position, position.takenAt);
    if (position) await readPages({ ...position, to: to.text, seq: null }, to.takenAt);
  }

  async function readPages(first: FeedPosition, takenAt: number): Promise<void> {
    let at = first;
    for (let isMore = true; isMore; ) {
      const page = await readPage(at);
      if (page.sent > 0) await sendAllowed(page.events, page.sent);
      isMore = page.isMore;
      at = { ...at, seq: page.lastSeq ?? at.seq };
      position = isMore ? at : { from: at.to ?? at.from, to: null, seq: null, takenAt };
    }
  }

  async function readPage(at: FeedPosition) {
    const { text, values } = changesSql(plan, at);
    const page = {
      events: new Uint8Array() as Uint8Array,
      sent: 0,
      isMore: false,
      lastSeq: null as string | null,
    };
    let events = new JsonRows(16 * 1024);
    let rows = 0;
    await rowDb.run('read', text, values, () => {
      events = new JsonRows(16 * 1024);
      rows = page.sent = 0;
      return (bytes, start) => {
        const row = new JsonRows(512);
        const rest = row.row(output.shape, bytes, start);
        const [seq = null, size, was, is, oldId = null, isChanged] = readValues(
          bytes,
          rest,
          changesRestCount,
        );
        rows++;
        page.lastSeq = seq;
        page.isMore = rows >= changesPerPage || Number(size) > changesBytesMax;
        const kind = eventKind(was === 'true', is === 'true', isChanged === 'true');
        if (kind === null) return;
        page.sent++;
        events.text(`event: ${kind}\nid: ${idOf({ ...at, seq })}\ndata: `);
        if (kind === 'delete') events.text(JSON.stringify({ [plan.idKey]: idJson(idType, oldId) }));
        else events.text(row.written().toString('utf8'));
        events.text('\n\n');
      };
    });
    page.events = events.written();
    return page;
  }

  return {
    readable,
    started: started.promise,
    start(): void {
      heartbeat = setInterval(sendHeartbeat, options.heartbeatMs);
      begin().catch((error: unknown) => end(error));
    },
    onEnd: (leave: () => void) => void ended.push(leave),
    advance(to: Snapshot, since: string | null): void {
      const isIdle = isReady && !isReading && position?.to === null;
      if (isIdle && since !== null && position?.from === since) {
        position = { from: to.text, to: null, seq: null, takenAt: to.takenAt };
        return;
      }
      if (!target || isLater(to.text, target.text)) target = to;
      void read();
    },
    async checkAccess(): Promise<void> {
      if (isChecking || isEnded) return;
      isChecking = true;
      try {
        if (!(await options.isCurrent())) end();
      } catch {
        end();
      } finally {
        isChecking = false;
      }
    },
    end: () => end(),
  };
}

/** A row that begins or ceases to match, or to be visible, is inserted or deleted as far as the caller can tell. */
function eventKind(was: boolean, is: boolean, isChanged: boolean): 'insert' | 'update' | 'delete' | null {
  if (was && is) return isChanged ? 'update' : null;
  if (is) return 'insert';
  return was ? 'delete' : null;
}

async function takeSnapshot(db: Pick<AppRows, 'run'>): Promise<Snapshot> {
  const [row = []] = (await db.run('point', snapshotSql, [])).rows;
  return { text: row[0] ?? '', takenAt: Number(row[1]) };
}

async function withStallTimeout<T>(promise: Promise<T>): Promise<T> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('The client stopped reading.')), stalledMsMax);
  try {
    return await Promise.race([promise, overdue]);
  } finally {
    clearTimeout(timer);
  }
}
