import { batchStatementMsMax } from '@svc/contract/rows.ts';
import type { DirectAnswer } from '../plumbing/direct.ts';
import { jsonAnswer, type RowsCtx } from './context.ts';
import { CopyRows } from './copy-rows.ts';
import { inTransaction } from './in-transaction.ts';
import { LineReader, type SentLine } from './jsonl.ts';
import { previewAnswer } from './preview.ts';
import { fillIn, isErrors, nextNumberSql, numberToPass, passNumberSql, type SentRow } from './read-row.ts';
import type { SentBody } from './sent-body.ts';
import { type Upsert, UpsertRows } from './upsert-rows.ts';

/** Where the rows of a batch are collected, every value at hand as text, and how they are stored. */
export interface BatchRows {
  add(line: number, values: (string | null)[], sent: SentRow): void;
  store: CopyRows['store'] | UpsertRows['store'];
}

/** Lines to rows, all or none. */
export async function insertBatch(
  ctx: RowsCtx,
  body: SentBody,
  options: { dryRun: boolean; key: string | null; upsert: Upsert | null },
): Promise<DirectAnswer> {
  const rows: BatchRows = options.upsert ? new UpsertRows(ctx, options.upsert) : new CopyRows(ctx.table);
  // What is wrong with a line is told before a connection is taken.
  const given = await collect(ctx, body, rows);
  return inTransaction(ctx, { ...options, bodyHash: () => body.sha256() }, async (tx, mode) => {
    await tx.query(`set local statement_timeout = ${batchStatementMsMax}`, []);
    const result = await rows.store(tx);
    if (given !== null && mode === 'execute') await tx.query(passNumberSql(ctx.table), [given]);
    const { ids: _, ...counts } = result;
    // Who may not read is not told of rows that were there before.
    if (mode === 'execute') return jsonAnswer(201, JSON.stringify(ctx.access.read ? result : counts));
    return previewAnswer(
      ctx,
      { id: 'rows.insert', irreversible: false },
      { id: '', before: null, after: counts },
    );
  });
}

/**
 * What is read of a large body leaves several times its size behind before the collector would come by itself: twenty
 * of 16 MiB at once took 500 MB, with this 250 MB, in the same time.
 */
const collectedEvery = 4 * 1024 * 1024;

/** Returns the highest number that is given for an id. */
async function collect(ctx: RowsCtx, body: SentBody, rows: BatchRows): Promise<string | null> {
  const { columns, idColumn } = ctx.table.catalogue;
  const idAt = columns.indexOf(idColumn);
  let given: string | null = null;
  const reader = new LineReader();
  let read = 0;
  for (const piece of body.pieces()) {
    const lines = reader.read(ctx.table, piece);
    const numbers = await numbersFor(ctx, lines);
    given = numberToPass(ctx.table, [given, ...lines.map(({ row }) => row[idAt])]);
    const filling = {
      userId: ctx.caller.userId,
      access: ctx.access,
      // As a value, PostgreSQL reads it as the time of the transaction.
      now: 'now',
      nextNumber: () => numbers.pop() ?? '',
    };
    for (const { line, row } of lines) {
      const values = fillIn(ctx.table, row, filling);
      if (isErrors(values)) reader.refuse(line, values);
      else if (reader.errors.length === 0) rows.add(line, values, row);
    }
    if (piece.length === body.size) break;
    await new Promise(setImmediate);
    read += piece.length;
    if (read < collectedEvery) continue;
    read = 0;
    Bun.gc(true);
  }
  reader.end();
  return given;
}

/** For ids that are numbered and not given, the last first. */
export async function numbersFor(ctx: RowsCtx, lines: readonly Pick<SentLine, 'row'>[]): Promise<string[]> {
  const { columns, idColumn } = ctx.table.catalogue;
  if (idColumn.default?.kind !== 'sequence') return [];
  const idAt = columns.indexOf(idColumn);
  const count = lines.filter(({ row }) => row[idAt] === undefined).length;
  if (count === 0) return [];
  const text = `select ${nextNumberSql(ctx.table)}::text from generate_series(1, $1::int)`;
  const { rows } = await ctx.rowDb.run('write', text, [String(count)]);
  return rows.map(([number]) => number ?? '').reverse();
}
