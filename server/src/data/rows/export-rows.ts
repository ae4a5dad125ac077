import { jsonLinesMediaType } from '@svc/contract/rows.ts';
import { fail } from '../../core/problem.ts';
import type { Transaction } from '../../drivers/row-database/row-pool.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import { emptyResponse, type RowsCtx } from './context.ts';
import { CsvRows, csvHeader, csvHeaders, JsonRows, noteHeaders } from './formats.ts';
import { parseQuery } from './parse-query.ts';
import { type ListPlan, planList } from './plan.ts';
import { withColumnName } from './row-errors.ts';
import { canRelate, hasColumnIn } from './row-table.ts';
import { searchedTable } from './search-sql.ts';
import { exportSql } from './sql.ts';

const chunkBytes = 512 * 1024;
const fetchedRowsMax = 1_000;
const exportsMax = 8;
const exportsPerAppMax = 4;
/** An export holds a connection and blocks schema changes of the table. */
const exportMsMax = 30 * 60_000;
const newline = 0x0a;
const stalledMsMax = 30_000;

export type ExportLimit = ReturnType<typeof createExportLimit>;

export function createExportLimit() {
  const running: string[] = [];
  return {
    acquire(app: string): () => void {
      const own = running.filter((each) => each === app).length;
      if (running.length >= exportsMax || own >= exportsPerAppMax) {
        throw fail('unavailable', { detail: 'Too many exports are running. Try again later.' });
      }
      running.push(app);
      return () => void running.splice(running.indexOf(app), 1);
    },
  };
}

/** A failed export aborts the stream, so that it never looks complete. Access is checked before every chunk. */
export async function exportRows(ctx: RowsCtx, format: 'jsonl' | 'csv' = 'jsonl'): Promise<FastPathResponse> {
  if (!ctx.access.actions.has('export')) throw ctx.refusal?.('export') ?? fail('forbidden');
  const query = parseQuery(ctx.search, 'list', hasColumnIn(ctx.exportTable), canRelate(ctx.table));
  if (query.isRelated)
    throw fail('validation_failed', {
      detail: 'An export has the rows of one table. Remove related rows from select, filters and sort.',
    });
  if (query.page !== null || query.perPage !== null || query.cursor !== null) {
    throw fail('validation_failed', { detail: 'An export has no pages. Remove page, per_page and cursor.' });
  }
  const plan = planList(await searchedTable(ctx, ctx.exportTable, query), query, () => []);
  const type = format === 'csv' ? csvHeaders : { 'content-type': jsonLinesMediaType };
  const headers = { ...type, 'cache-control': 'no-store', ...noteHeaders(query) };
  // Without this header Bun would answer HEAD with content-length: 0.
  if (ctx.request.method === 'HEAD')
    return emptyResponse(200, { ...headers, 'transfer-encoding': 'chunked' });
  const release = ctx.exportLimit.acquire(ctx.app.id);
  ctx.info.extendTimeout();
  const deadline = performance.now() + exportMsMax;
  let sent = 0;
  const started = Promise.withResolvers<void>();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(
    {},
    { highWaterMark: 1 },
    { highWaterMark: 1 },
  );
  const writer = writable.getWriter();
  const work = ctx.rowDb.transaction(async (tx) => {
    await sendRows(tx, plan, format, started.resolve, async (chunk, count) => {
      await withStallTimeout(writer.ready);
      if (!(await ctx.hasSameAccess())) throw fail('not_found');
      sent += count;
      if (performance.now() > deadline) throw fail('query_timeout');
      void writer.write(chunk).catch(() => {});
    });
    await withStallTimeout(writer.ready);
    return { end: 'rollback', value: undefined };
  });
  work
    .then(
      () => writer.close(),
      (error: unknown) => writer.abort(error),
    )
    .catch(() => {})
    .finally(() => {
      release();
      const { table, output } = plan;
      ctx.recordRead({ action: 'export', table, output, rows: sent });
    });
  // Waits for the first rows, so that errors still get a status code.
  await Promise.race([started.promise, work]);
  return { status: 200, headers, body: readable };
}

async function sendRows(
  tx: Transaction,
  plan: ListPlan,
  format: 'jsonl' | 'csv',
  onStarted: () => void,
  send: (chunk: Uint8Array, rows: number) => Promise<void>,
): Promise<void> {
  const { text, values } = exportSql(plan);
  const cursor = await tx.cursor(text, values);
  let fetchSize = 50;
  const isCsv = format === 'csv';
  for (let isFirst = true; ; isFirst = false) {
    const lines = isCsv ? new CsvRows(64 * 1024) : new JsonRows(64 * 1024);
    if (isCsv && isFirst) lines.text(csvHeader(plan.output));
    let rows = 0;
    try {
      await cursor.fetch(fetchSize, (bytes, start) => {
        lines.row(plan.output.shape, bytes, start);
        if (!isCsv) lines.byte(newline);
        rows++;
      });
    } catch (error) {
      throw withColumnName(error, plan.output);
    }
    onStarted();
    if (lines.end > 0) await send(lines.written(), rows);
    if (rows < fetchSize) return;
    fetchSize = rowsPerFetch(lines.end / rows);
  }
}

/** Rows that fill a chunk; a power of two, because each number is another prepared statement. */
function rowsPerFetch(bytesPerRow: number): number {
  const fitting = Math.max(1, Math.min(fetchedRowsMax, chunkBytes / bytesPerRow));
  return 2 ** Math.floor(Math.log2(fitting));
}

async function withStallTimeout<T>(promise: Promise<T>): Promise<T> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('The client stopped reading the export.')), stalledMsMax);
  try {
    return await Promise.race([promise, overdue]);
  } finally {
    clearTimeout(timer);
  }
}
