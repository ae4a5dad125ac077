import { jsonLinesMediaType } from '@svc/contract/rows.ts';
import type { Transaction } from '../drivers/row-database/row-database.ts';
import type { DirectAnswer } from '../plumbing/direct.ts';
import { fail } from '../plumbing/problem.ts';
import type { RowsCtx } from './context.ts';
import { JsonRows } from './json-rows.ts';
import { parseQuery } from './parse-query.ts';
import { type ListPlan, planList } from './plan.ts';
import { exportSql } from './sql.ts';

/** About so much is in memory, however many rows there are, however long they are and however slow the client is. */
const chunkBytes = 512 * 1024;
const fetchedRowsMax = 1_000;
const exportsMax = 8;
/** So that the exports of one app leave room for those of others. */
const exportsPerAppMax = 4;
/** Each holds a connection, and keeps the table from being changed. */
const exportMsMax = 30 * 60_000;
const newline = 0x0a;
/** A client that takes nothing for so long holds a connection of the database for nothing. */
const stalledMsMax = 30_000;

/** Those under way. */
export interface Exports {
  /** Returns how to leave. */
  enter(app: string): () => void;
}

export function createExports(): Exports {
  const running: string[] = [];
  return {
    enter(app) {
      const own = running.filter((each) => each === app).length;
      if (running.length >= exportsMax || own >= exportsPerAppMax) {
        throw fail('unavailable', { detail: 'Too many exports at once; try again.' });
      }
      running.push(app);
      return () => void running.splice(running.indexOf(app), 1);
    },
  };
}

/**
 * Every row as one line, of one instant: a cursor in the database, read on as the client takes the lines. Whether the
 * caller still may is asked again and again; a stream that may not or can not go on is broken off, never ended as if
 * it were whole.
 */
export async function exportRows(ctx: RowsCtx): Promise<DirectAnswer> {
  const query = parseQuery(ctx.search, 'list');
  if (query.page !== null || query.perPage !== null || query.cursor !== null) {
    throw fail('validation_failed', {
      detail: 'An export has no pages: leave out page, per_page and cursor.',
    });
  }
  const plan = planList(ctx.table, ctx.access.ownRowsOf, query, () => []);
  const head = {
    status: 200,
    headers: { 'content-type': jsonLinesMediaType, 'cache-control': 'no-store' },
  };
  // Nobody would read a stream begun for it; without a word of one, Bun would say that there is nothing.
  if (ctx.request.method === 'HEAD')
    return { ...head, headers: { ...head.headers, 'transfer-encoding': 'chunked' }, body: null };
  const leave = ctx.exports.enter(ctx.app.id);
  ctx.patient();
  const deadline = performance.now() + exportMsMax;
  const begun = Promise.withResolvers<void>();
  // One chunk waits at most: the writer waits for the reader.
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(
    {},
    { highWaterMark: 1 },
    { highWaterMark: 1 },
  );
  const writer = writable.getWriter();
  const work = ctx.rowDb.transaction(async (tx) => {
    await copyOut(tx, plan, begun.resolve, async (chunk) => {
      await withinTime(writer.ready);
      if (!(await ctx.stillReached())) throw fail('not_found');
      if (performance.now() > deadline) throw fail('query_timeout');
      void writer.write(chunk).catch(() => {});
    });
    await withinTime(writer.ready);
    return { end: 'rollback', value: undefined };
  });
  work
    .then(
      () => writer.close(),
      (error: unknown) => writer.abort(error),
    )
    .catch(() => {})
    .finally(leave);
  // The first rows are there before the head is sent, so that what can be refused is refused with a status.
  await Promise.race([begun.promise, work]);
  return { ...head, body: readable };
}

async function copyOut(
  tx: Transaction,
  plan: ListPlan,
  begun: () => void,
  send: (chunk: Uint8Array) => Promise<void>,
): Promise<void> {
  const { text, values } = exportSql(plan);
  await tx.query(`declare exported no scroll cursor for ${text}`, values);
  let asked = 50;
  for (;;) {
    const lines = new JsonRows(64 * 1024);
    let rows = 0;
    await tx.query(`fetch ${asked} from exported`, [], (bytes, start) => {
      lines.row(plan.output.shape, bytes, start);
      lines.byte(newline);
      rows++;
    });
    begun();
    if (rows > 0) await send(lines.taken());
    if (rows < asked) return;
    asked = rowsFor(lines.end / rows);
  }
}

/** As many rows of a length as make a chunk; of few kinds, since each number is a statement of its own. */
function rowsFor(bytesPerRow: number): number {
  const fitting = Math.max(1, Math.min(fetchedRowsMax, chunkBytes / bytesPerRow));
  return 2 ** Math.floor(Math.log2(fitting));
}

async function withinTime<T>(promise: Promise<T>): Promise<T> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('The client takes no more of the export.')), stalledMsMax);
  try {
    return await Promise.race([promise, overdue]);
  } finally {
    clearTimeout(timer);
  }
}
