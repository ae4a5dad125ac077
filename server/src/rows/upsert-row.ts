import { rowSegment } from '@svc/contract/row-path.ts';
import type { Transaction } from '../drivers/row-database/row-database.ts';
import { sha256 } from '../plumbing/canonical.ts';
import type { DirectAnswer } from '../plumbing/direct.ts';
import { emptyAnswer, jsonAnswer, type RowsCtx } from './context.ts';
import { rowEtag } from './etag.ts';
import { theRow } from './get-row.ts';
import { oneRow, parsedRow } from './given-row.ts';
import { inTransaction } from './in-transaction.ts';
import { numbersFor } from './insert-batch.ts';
import { ownRows, type PlannedCondition } from './plan.ts';
import { previewAnswer } from './preview.ts';
import { fillIn, isErrors, numberToPass, passNumberSql, readObject, refused } from './read-row.ts';
import { oneSql } from './sql.ts';
import { type Upsert, type Upserted, UpsertRows } from './upsert-rows.ts';
import { preferencesOf } from './write-options.ts';

/** One row, inserted or merged into the one that is there; the answer is the row, as of an insert. */
export async function upsertRow(
  ctx: RowsCtx,
  body: string,
  options: { dryRun: boolean; key: string | null; upsert: Upsert },
): Promise<DirectAnswer> {
  const { columns, idColumn } = ctx.table.catalogue;
  const sent = readObject(ctx.table, body, 0, body.length);
  if (isErrors(sent)) throw refused(sent);
  const numbers = await numbersFor(ctx, [{ row: sent }]);
  const values = fillIn(ctx.table, sent, {
    userId: ctx.caller.userId,
    access: ctx.access,
    // As a value, PostgreSQL reads it as the time of the transaction.
    now: 'now',
    nextNumber: () => numbers.pop() ?? '',
  });
  if (isErrors(values)) throw refused(values);
  const rows = new UpsertRows(ctx, options.upsert);
  rows.add(undefined, values, sent);
  const number = numberToPass(ctx.table, [sent[columns.indexOf(idColumn)]]);
  return inTransaction(ctx, { ...options, bodyHash: () => sha256(body) }, async (tx, mode) => {
    const stored = await rows.store(tx);
    if (mode === 'preview') {
      const { inserted, updated } = stored;
      const change = { id: '', before: null, after: { inserted, updated } };
      return previewAnswer(ctx, { id: 'rows.insert', irreversible: false }, change);
    }
    if (number !== null) await tx.query(passNumberSql(ctx.table), [number]);
    return answerOf(ctx, tx, stored, keyOf(ctx, options.upsert, values));
  });
}

/** Which row it is by the columns that tell it. */
function keyOf({ table, access }: RowsCtx, { on }: Upsert, values: readonly (string | null)[]) {
  const { columns } = table.catalogue;
  const tests = on.map((column): PlannedCondition => {
    const value = values[columns.indexOf(column)] ?? '';
    return { kind: 'test', negated: false, column, op: 'eq', value };
  });
  return [...tests, ...ownRows(table, access.ownRowsOf)];
}

/** `key` finds the row that was left as it is: nothing was stored then. */
async function answerOf(
  ctx: RowsCtx,
  tx: Transaction,
  { inserted, ids }: Upserted,
  key: readonly PlannedCondition[],
): Promise<DirectAnswer> {
  const [id] = ids;
  const { all, catalogue } = ctx.table;
  const where = id === undefined ? key : theRow(ctx, String(id));
  const row = await oneRow(tx.query, oneSql(ctx.table, all, where), all, 1);
  // Who may not see the row that was there is not told where it is.
  if (!row || (inserted === 0 && !ctx.access.read)) return emptyAnswer(204);
  const headers = {
    location: `${ctx.path}/${rowSegment(String(id ?? parsedRow(row)[catalogue.idColumn.name]))}`,
    etag: rowEtag(ctx.table, row.rest[0] ?? ''),
  };
  if (preferencesOf(ctx.request).returns === 'minimal' || !ctx.access.read)
    return emptyAnswer(inserted > 0 ? 201 : 204, headers);
  return jsonAnswer(inserted > 0 ? 201 : 200, row.json, headers);
}
