import { rowSegment } from '@svc/contract/row-path.ts';
import { rowBytesMax } from '@svc/contract/rows.ts';
import { assignedOnExecution, timeOfExecution } from '../../core/plan.ts';
import { fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { Transaction } from '../../drivers/row-database/row-pool.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import { equals, type PlannedCondition } from '../tables/conditions.ts';
import { emptyResponse, jsonResponse, parsePreferences, type RowsCtx } from './context.ts';
import { parseReturnedRow, queryIn, queryRow, type ReturnedRow, type RunQuery, rowEtag } from './get-row.ts';
import { insertOperation, nextNumbers, textFillOptions } from './insert-batch.ts';
import {
  advanceSequenceSql,
  fillDefaults,
  highestNumber,
  insertRights,
  isInsertable,
  isProblems,
  newVersion,
  nextNumberSql,
  parseRowObject,
  type RowInput,
  rowProblemsError,
} from './parse-row.ts';
import { createOutput, type Output } from './row-table.ts';
import { oneSql } from './sql.ts';
import { type Upsert, type UpsertResult, UpsertRows } from './upsert-rows.ts';
import { insertSql } from './write-sql.ts';
import {
  countPreviewConflict,
  hasCause,
  ifPlanHeader,
  insertCheck,
  isAddressable,
  type PreviewedChange,
  presentColumns,
  previewResponse,
  type RowWritten,
  refusedRowError,
  runWrite,
  type WriteMode,
} from './write-transaction.ts';

export async function insertRow(
  ctx: RowsCtx,
  body: string,
  options: { dryRun: boolean; key: string | null },
) {
  const insert = planInsert(ctx, body);
  const { isMinimal } = parsePreferences(ctx.request);
  const isSingleStatement =
    !options.dryRun && options.key === null && !hasCause(ctx.table) && ifPlanHeader(ctx.request) === null;
  if (isSingleStatement) {
    const row = await storeRow(ctx, insert, queryIn(ctx, 'insert'), isMinimal ? createOutput([]) : undefined);
    if (insert.number !== null) await ctx.rowDb.run('write', advanceSequenceSql(ctx.table), [insert.number]);
    return insertResponse(ctx, row, isMinimal);
  }
  return runWrite(ctx, { ...options, bodyHash: () => sha256(body) }, async (tx, mode) => {
    const { response, previewed } = await insertRowIn(ctx, insert, tx, mode);
    return previewed ? previewResponse(ctx, insertOperation, previewed) : response;
  });
}

interface RowInsert {
  input: RowInput;
  filled: (string | null | { sql: string })[];
  number: string | null;
}

export function planInsert(ctx: RowsCtx, body: string): RowInsert {
  if (Buffer.byteLength(body) > rowBytesMax) throw fail('payload_too_large');
  const input = parseRowObject(ctx.table, body, 0, body.length);
  if (isProblems(input)) throw rowProblemsError(input);
  const filled = fillDefaults(ctx.table, input, {
    userId: ctx.caller.userId,
    rights: insertRights(ctx.table, ctx.access),
    now: { sql: 'now()' },
    nextNumber: () => ({ sql: nextNumberSql(ctx.table) }),
  });
  if (isProblems(filled)) throw rowProblemsError(filled);
  const { columns, idColumn } = ctx.table.catalogue;
  return { input, filled, number: highestNumber(ctx.table, [input[columns.indexOf(idColumn)]]) };
}

export async function insertRowIn(
  ctx: RowsCtx,
  insert: RowInsert,
  tx: Transaction,
  mode: WriteMode,
): Promise<RowWritten> {
  const row = await storeRow(ctx, insert, tx.query);
  if (insert.number !== null && mode === 'execute')
    await tx.query(advanceSequenceSql(ctx.table), [insert.number]);
  const { isMinimal } = parsePreferences(ctx.request);
  return {
    response: insertResponse(ctx, row, isMinimal),
    previewed: mode === 'preview' ? previewInsert(ctx, insert.input, row) : null,
  };
}

async function storeRow(
  ctx: RowsCtx,
  { input, filled }: RowInsert,
  run: RunQuery,
  output: Output = ctx.table.all,
): Promise<ReturnedRow> {
  const statement = insertSql(
    ctx.table,
    ctx.table.catalogue.columns
      .map((column, at) => ({ column, value: filled[at] ?? null }))
      .filter(({ column }) => isInsertable(column)),
    { version: newVersion(), returning: output, check: insertCheck(ctx, presentColumns(ctx, input)) },
  );
  const row = await queryRow(run, statement, output, 3);
  if (!row) throw refusedRowError();
  return row;
}

function insertResponse(ctx: RowsCtx, row: ReturnedRow, isMinimal: boolean) {
  const [id, version, isVisible] = row.rest;
  if (!id || !version) throw new Error('The insert returned no row.');
  const headers: Record<string, string> = {};
  if (isAddressable(ctx)) headers.location = `${ctx.path}/${rowSegment(id)}`;
  if (isVisible !== 'true') return emptyResponse(201, headers);
  // A minimal answer has no representation from which to compute the ETag of a view.
  if (!isMinimal || ctx.table.view.columns === null) headers.etag = rowEtag(ctx.table, row, version);
  return isMinimal ? emptyResponse(201, headers) : jsonResponse(201, row.json, headers);
}

/** Generated values are replaced by placeholders, so that equal previews have equal fingerprints. */
function previewInsert(ctx: RowsCtx, input: RowInput, row: ReturnedRow): PreviewedChange {
  if (ctx.access.actions.has('read') && row.rest[2] !== 'true') return { id: '', before: null, after: {} };
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
    else if (!isInsertable({ type })) after[name] = assignedOnExecution;
  }
  return { id: '', before: null, after };
}

export async function upsertRow(
  ctx: RowsCtx,
  body: string,
  options: { dryRun: boolean; key: string | null; upsert: Upsert },
): Promise<FastPathResponse> {
  const stored = await planUpsertedRow(ctx, body, options.upsert);
  return runWrite(ctx, { ...options, bodyHash: () => sha256(body) }, async (tx, mode) => {
    const { response, previewed } = await upsertRowIn(ctx, stored, tx, mode);
    return previewed ? previewResponse(ctx, insertOperation, previewed) : response;
  });
}

type UpsertedRow = Awaited<ReturnType<typeof planUpsertedRow>>;

export async function planUpsertedRow(ctx: RowsCtx, body: string, upsert: Upsert) {
  const { columns, idColumn } = ctx.table.catalogue;
  const input = parseRowObject(ctx.table, body, 0, body.length);
  if (isProblems(input)) throw rowProblemsError(input);
  const numbers = await nextNumbers(ctx, [{ row: input }]);
  const values = fillDefaults(ctx.table, input, textFillOptions(ctx, numbers));
  if (isProblems(values)) throw rowProblemsError(values);
  const rows = new UpsertRows(ctx, upsert);
  rows.add(undefined, values, input);
  return { upsert, values, rows, number: highestNumber(ctx.table, [input[columns.indexOf(idColumn)]]) };
}

export async function upsertRowIn(
  ctx: RowsCtx,
  { upsert, values, rows, number }: UpsertedRow,
  tx: Transaction,
  mode: WriteMode,
): Promise<RowWritten> {
  const stored = await rows.store(tx);
  const { inserted, updated } = stored;
  if (mode === 'execute' && number !== null) await tx.query(advanceSequenceSql(ctx.table), [number]);
  if (mode === 'preview' && inserted + updated < rows.size) countPreviewConflict(ctx);
  return {
    response: await upsertResponse(ctx, tx, stored, keyTests(ctx, upsert, values, stored)),
    previewed: mode === 'preview' ? { id: '', before: null, after: { inserted, updated } } : null,
  };
}

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
