import { rowSegment } from '@svc/contract/row-path.ts';
import { rowBytesMax } from '@svc/contract/rows.ts';
import { assignedOnExecution, timeOfExecution } from '../../core/plan.ts';
import { fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { Transaction } from '../../drivers/row-database/row-pool.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import { equals, type PlannedCondition } from '../tables/conditions.ts';
import { emptyResponse, jsonResponse, parsePreferences, type RowsCtx } from './context.ts';
import { parseReturnedRow, queryIn, queryRow, type ReturnedRow, rowEtag } from './get-row.ts';
import { insertOperation, nextNumbers, textFillOptions } from './insert-batch.ts';
import {
  advanceSequenceSql,
  fillDefaults,
  highestNumber,
  isGiven,
  isProblems,
  newVersion,
  nextNumberSql,
  parseRowObject,
  type RowInput,
  rowProblemsError,
} from './parse-row.ts';
import { createOutput } from './row-table.ts';
import { insertSql, oneSql } from './sql.ts';
import { type Upsert, type UpsertResult, UpsertRows } from './upsert-rows.ts';
import { insertCheck, isAddressable, presentColumns, refusedRow } from './write-checks.ts';
import { countPreviewConflict, ifPlanHeader, previewResponse, runWrite } from './write-transaction.ts';

export async function insertRow(
  ctx: RowsCtx,
  body: string,
  options: { dryRun: boolean; key: string | null },
) {
  if (Buffer.byteLength(body) > rowBytesMax) throw fail('payload_too_large');
  const input = parseRowObject(ctx.table, body, 0, body.length);
  if (isProblems(input)) throw rowProblemsError(input);
  const filled = fillDefaults(ctx.table, input, {
    userId: ctx.caller.userId,
    access: ctx.access,
    now: { sql: 'now()' },
    nextNumber: () => ({ sql: nextNumberSql(ctx.table) }),
  });
  if (isProblems(filled)) throw rowProblemsError(filled);
  const { isMinimal } = parsePreferences(ctx.request);
  const isSingleStatement = !options.dryRun && options.key === null && ifPlanHeader(ctx.request) === null;
  const output = isMinimal && isSingleStatement ? createOutput([]) : ctx.table.all;
  const statement = insertSql(
    ctx.table,
    ctx.table.catalogue.columns
      .map((column, at) => ({ column, value: filled[at] ?? null }))
      .filter(({ column }) => isGiven(column)),
    { version: newVersion(), returning: output, check: insertCheck(ctx, presentColumns(ctx, input)) },
  );
  const idAt = ctx.table.catalogue.columns.indexOf(ctx.table.catalogue.idColumn);
  const number = highestNumber(ctx.table, [input[idAt]]);
  if (isSingleStatement) {
    const row = await queryRow(queryIn(ctx, 'write'), statement, output, 3);
    if (!row) throw refusedRow();
    if (number !== null) await ctx.rowDb.run('write', advanceSequenceSql(ctx.table), [number]);
    return insertResponse(ctx, row, isMinimal);
  }
  return runWrite(ctx, { ...options, bodyHash: () => sha256(body) }, async (tx, mode) => {
    const row = await queryRow(tx.query, statement, output, 3);
    if (!row) throw refusedRow();
    if (number !== null && mode === 'execute') await tx.query(advanceSequenceSql(ctx.table), [number]);
    return mode === 'preview' ? previewInsert(ctx, input, row) : insertResponse(ctx, row, isMinimal);
  });
}

function insertResponse(ctx: RowsCtx, row: ReturnedRow, isMinimal: boolean) {
  const [id, version, isVisible] = row.rest;
  if (!id || !version) throw new Error('The insert returned no row.');
  const headers: Record<string, string> = {};
  if (isAddressable(ctx)) headers.location = `${ctx.path}/${rowSegment(id)}`;
  if (isVisible !== 'true') return emptyResponse(201, headers);
  // Of a minimal answer the representation is not known, of which the ETag may be made.
  if (!isMinimal || ctx.table.view.columns === null) headers.etag = rowEtag(ctx.table, row, version);
  return isMinimal ? emptyResponse(201, headers) : jsonResponse(201, row.json, headers);
}

/** Generated values are replaced by placeholders, so that equal previews have equal fingerprints. */
function previewInsert(ctx: RowsCtx, input: RowInput, row: ReturnedRow) {
  if (ctx.access.actions.has('read') && row.rest[2] !== 'true')
    return previewResponse(ctx, insertOperation, { id: '', before: null, after: {} });
  const after = parseReturnedRow(row);
  for (const [at, column] of ctx.table.catalogue.columns.entries()) {
    if (!ctx.table.positions.has(column.name)) continue;
    if (input[at] !== undefined || !column.default) continue;
    if (column.default.kind === 'now') after[column.name] = timeOfExecution;
    else if (column.default.kind !== 'literal') after[column.name] = assignedOnExecution;
  }
  for (const { role, name, type } of ctx.table.catalogue.columns) {
    if (!ctx.table.byName.has(name)) continue;
    if (role === 'created_at' || role === 'updated_at') after[name] = timeOfExecution;
    else if (!isGiven({ type })) after[name] = assignedOnExecution;
  }
  return previewResponse(ctx, insertOperation, { id: '', before: null, after });
}

export async function upsertRow(
  ctx: RowsCtx,
  body: string,
  options: { dryRun: boolean; key: string | null; upsert: Upsert },
): Promise<FastPathResponse> {
  const { columns, idColumn } = ctx.table.catalogue;
  const input = parseRowObject(ctx.table, body, 0, body.length);
  if (isProblems(input)) throw rowProblemsError(input);
  const numbers = await nextNumbers(ctx, [{ row: input }]);
  const values = fillDefaults(ctx.table, input, textFillOptions(ctx, numbers));
  if (isProblems(values)) throw rowProblemsError(values);
  const rows = new UpsertRows(ctx, options.upsert);
  rows.add(undefined, values, input);
  const number = highestNumber(ctx.table, [input[columns.indexOf(idColumn)]]);
  return runWrite(ctx, { ...options, bodyHash: () => sha256(body) }, async (tx, mode) => {
    const stored = await rows.store(tx);
    if (mode === 'preview') {
      const { inserted, updated } = stored;
      if (inserted + updated < rows.size) countPreviewConflict(ctx);
      return previewResponse(ctx, insertOperation, { id: '', before: null, after: { inserted, updated } });
    }
    if (number !== null) await tx.query(advanceSequenceSql(ctx.table), [number]);
    return upsertResponse(ctx, tx, stored, keyTests(ctx, options.upsert, values, stored));
  });
}

/** Finds the row by its id or by the key of the conflict; null where the caller may not read these columns. */
function keyTests(
  { table }: RowsCtx,
  { on }: Upsert,
  values: readonly (string | null)[],
  { ids: [id] }: UpsertResult,
): PlannedCondition[] | null {
  const { columns, idColumn } = table.catalogue;
  const tests =
    id === undefined
      ? on.map((column) => [column, values[columns.indexOf(column)] ?? ''] as const)
      : [[idColumn, String(id)] as const];
  if (!tests.every(([column]) => table.byName.get(column.name) === column)) return null;
  return tests.map(([column, value]) => equals(column, value));
}

async function upsertResponse(
  ctx: RowsCtx,
  tx: Transaction,
  { inserted, ids }: UpsertResult,
  where: readonly PlannedCondition[] | null,
): Promise<FastPathResponse> {
  const [id] = ids;
  const { all, catalogue } = ctx.table;
  const row = where && (await queryRow(tx.query, oneSql(ctx.table, all, where), all, 1));
  // Callers who may not see the existing row do not learn its id.
  if (!row) {
    if (inserted === 0) return emptyResponse(204);
    return emptyResponse(
      201,
      isAddressable(ctx) ? { location: `${ctx.path}/${rowSegment(String(id))}` } : {},
    );
  }
  const headers: Record<string, string> = { etag: rowEtag(ctx.table, row, row.rest[0] ?? '') };
  if (ctx.table.key === catalogue.idColumn)
    headers.location = `${ctx.path}/${rowSegment(String(id ?? parseReturnedRow(row)[catalogue.idColumn.name]))}`;
  if (parsePreferences(ctx.request).isMinimal) return emptyResponse(inserted > 0 ? 201 : 204, headers);
  return jsonResponse(inserted > 0 ? 201 : 200, row.json, headers);
}
