import { batchStatementMsMax } from '@svc/contract/rows.ts';
import { escapeIdentifier as ident } from 'pg';
import { ServerError } from '../drivers/row-database/backend-messages.ts';
import type { Transaction } from '../drivers/row-database/row-database.ts';
import type { DirectAnswer } from '../plumbing/direct.ts';
import { versionColumn } from '../tables/catalogue.ts';
import { jsonAnswer, type RowsCtx } from './context.ts';
import { CopyText } from './copy-text.ts';
import { idJson } from './id-json.ts';
import { inTransaction } from './in-transaction.ts';
import { addErrors, type LineError, readLines, refusedLines, type SentBatch } from './jsonl.ts';
import { previewAnswer } from './preview.ts';
import { fillIn, isErrors, newVersion, nextNumberSql } from './read-row.ts';
import { failureOfRow } from './row-errors.ts';
import { type Upsert, upsertRows } from './upsert-rows.ts';

/** Lines to rows, all or none. */
export function insertBatch(
  ctx: RowsCtx,
  body: string,
  options: { dryRun: boolean; key: string | null; upsert: Upsert | null },
): Promise<DirectAnswer> {
  // What is wrong with a line is told before a connection is taken.
  const batch = readLines(ctx.table, body);
  return inTransaction(ctx, { ...options, body }, async (tx, mode) => {
    await tx.query(`set local statement_timeout = ${batchStatementMsMax}`, []);
    const rows = await filledRows(ctx, tx, batch);
    const result = options.upsert
      ? await upsertRows(ctx, tx, batch, rows, options.upsert)
      : await copyRows(ctx, tx, batch, rows);
    if (mode === 'execute') return jsonAnswer(201, JSON.stringify(result));
    const { ids: _, ...counts } = result;
    return previewAnswer(
      ctx,
      { id: 'rows.insert', irreversible: false },
      { id: '', before: null, after: counts },
    );
  });
}

/** Every value at hand, as text, in the order of the table's columns. */
async function filledRows(ctx: RowsCtx, tx: Transaction, batch: SentBatch): Promise<(string | null)[][]> {
  const { columns, idColumn } = ctx.table.catalogue;
  const idAt = columns.indexOf(idColumn);
  const unnumbered =
    idColumn.default?.kind === 'sequence' ? batch.rows.filter((row) => row[idAt] === undefined).length : 0;
  const numbers = unnumbered === 0 ? [] : await fetchNumbers(ctx, tx, unnumbered);
  const now = (await tx.query('select now()::text', [])).rows[0]?.[0] ?? '';
  const errors: LineError[] = [];
  let used = 0;
  const filling = {
    userId: ctx.caller.userId,
    access: ctx.access,
    now,
    nextNumber: () => numbers[used++] ?? '',
  };
  const filled: (string | null)[][] = [];
  for (const [at, row] of batch.rows.entries()) {
    const values = fillIn(ctx.table, row, filling);
    if (isErrors(values)) addErrors(errors, batch.lines[at] ?? 0, values);
    else filled.push(values.map((value) => (typeof value === 'object' && value !== null ? null : value)));
  }
  if (errors.length > 0) throw refusedLines(errors);
  return filled;
}

async function fetchNumbers(ctx: RowsCtx, tx: Transaction, count: number): Promise<string[]> {
  const text = `select ${nextNumberSql(ctx.table)}::text from generate_series(1, $1::int)`;
  const { rows } = await tx.query(text, [String(count)]);
  return rows.map(([number]) => number ?? '');
}

async function copyRows(
  ctx: RowsCtx,
  tx: Transaction,
  batch: SentBatch,
  rows: readonly (string | null)[][],
): Promise<{ inserted: number; ids: (string | number | null)[] }> {
  const { columns, idColumn } = ctx.table.catalogue;
  const idAt = columns.indexOf(idColumn);
  const version = newVersion();
  const data = new CopyText();
  for (const row of rows) {
    row.push(version);
    data.add(row);
  }
  const names = [...columns.map(({ physical }) => ident(physical)), versionColumn];
  try {
    await tx.copy(`copy ${ctx.table.from} (${names.join(', ')}) from stdin`, data.end());
  } catch (error) {
    throw failureOfRow(error, ctx.table, lineOf(error, batch)) ?? error;
  }
  return { inserted: rows.length, ids: rows.map((row) => idJson(idColumn.type, row[idAt] ?? null)) };
}

/** PostgreSQL says which of the rows it was at, counting from 1. */
function lineOf(error: unknown, batch: SentBatch): number | undefined {
  if (!(error instanceof ServerError)) return undefined;
  const row = /, line (\d+)/.exec(error.where ?? '')?.[1];
  return row === undefined ? undefined : batch.lines[Number(row) - 1];
}
