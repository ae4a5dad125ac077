import { affectedDefault, batchStatementMsMax, rowBytesMax } from '@svc/contract/rows.ts';
import { fail, validationError } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { Transaction } from '../../drivers/row-database/row-pool.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import { isOneOf } from '../tables/conditions.ts';
import { changeable } from './access.ts';
import { refusedChangeError, requireStoredSize, updatedColumns, visibleRow } from './change-row.ts';
import {
  emptyResponse,
  jsonResponse,
  parseIdempotencyKey,
  parsePreferences,
  type RowsCtx,
  recordRows,
} from './context.ts';
import { JsonRows, noteHeaders, readValues } from './formats.ts';
import { type ReturnedRow, rowEtag } from './get-row.ts';
import { parseQuery } from './parse-query.ts';
import { planWhere } from './plan.ts';
import { createOutput, hasColumnIn, type Output } from './row-table.ts';
import type { Statement } from './sql.ts';
import { idJson } from './upsert-rows.ts';
import { deleteSql, type GuardedRow, type InsertedColumn, lockSql, updateSql } from './write-sql.ts';
import { createCascades, losesDeleted, planResponse, runWrite } from './write-transaction.ts';

interface RowsChange {
  action: 'update' | 'delete';
  operation: { id: string; irreversible: boolean };
  changed: readonly InsertedColumn[] | null;
  body: string;
  statement(row: GuardedRow): Statement;
}

export async function updateRows(ctx: RowsCtx, body: string): Promise<FastPathResponse> {
  const changed = updatedColumns(ctx, body);
  return changeRows(ctx, {
    action: 'update',
    operation: { id: 'rows.updateMany', irreversible: false },
    changed,
    body,
    statement: (row) => updateSql(ctx.table, changed, row, null),
  });
}

export async function deleteRows(ctx: RowsCtx): Promise<FastPathResponse> {
  return changeRows(ctx, {
    action: 'delete',
    operation: { id: 'rows.deleteMany', irreversible: losesDeleted(ctx.table) },
    changed: null,
    body: '',
    statement: (row) => deleteSql(ctx.table, row, null),
  });
}

async function changeRows(ctx: RowsCtx, change: RowsChange): Promise<FastPathResponse> {
  const { table, access, request } = ctx;
  if (!access.actions.has('read')) throw fail('forbidden');
  const query = parseQuery(ctx.search, 'changeMany', hasColumnIn(table));
  if (query.where.length === 0)
    throw validationError('filter', 'is required: a change of many rows needs a condition', 'required');
  if (request.headers.has('if-match'))
    throw validationError('If-Match', 'is for one row; use If-Plan for a set of rows');
  const columns = change.changed?.filter(({ column }) => column.role === 'plain') ?? [];
  const matching = {
    where: planWhere(table, query.where),
    allowed: changeable(
      access,
      change.action,
      columns.map(({ column }) => column.name),
    ),
  };
  // A misspelt filter of a change costs most.
  const withNotes = (response: FastPathResponse): FastPathResponse => ({
    ...response,
    headers: { ...response.headers, ...noteHeaders(query) },
  });
  const rowsMax = query.maxAffected ?? affectedDefault;
  const options = {
    dryRun: query.dryRun,
    key: parseIdempotencyKey(request),
    bodyHash: () => sha256(change.body),
  };
  return runWrite(ctx, options, async (tx, mode) => {
    await tx.query(`set local statement_timeout = ${batchStatementMsMax}`, []);
    const output = mode === 'preview' ? table.all : noColumns;
    const lock = lockSql(table, matching, { output, changed: change.changed, rowsMax: rowsMax + 1 });
    const before = await queryRows(tx, lock, { output, restCount: 1 });
    if (before.length > rowsMax)
      throw fail('max_affected_exceeded', {
        detail: `More than ${rowsMax} rows match. Nothing was changed.`,
      });
    const { isRepresentation } = parsePreferences(request);
    const changeAll = () =>
      changeLocked(ctx, tx, {
        change,
        allowed: matching.allowed,
        ids: before.map(({ rest }) => rest[0] ?? ''),
        isStored: mode === 'preview' || isRepresentation,
      });
    if (mode === 'execute') return withNotes(respond(ctx, change, await changeAll()));
    if (change.action === 'update') return withNotes(previewChanges(ctx, change, before, await changeAll()));
    const cascades = createCascades(tx);
    const deleted = await cascades.count(ctx, changeAll, ({ length }) => length);
    return withNotes(previewChanges(ctx, change, before, deleted, cascades.warnings()));
  });
}

const noColumns = createOutput([]);

async function changeLocked(
  { table }: RowsCtx,
  tx: Transaction,
  options: {
    change: RowsChange;
    allowed: GuardedRow['allowed'];
    ids: readonly string[];
    isStored: boolean;
  },
): Promise<ReturnedRow[]> {
  const { change, allowed, ids, isStored } = options;
  if (ids.length === 0) return [];
  const { idColumn } = table.catalogue;
  const statement = change.statement({ where: [isOneOf(idColumn, ids)], allowed, returnsId: true });
  const returned = await queryRows(tx, statement, { output: table.all, restCount: 4, isStored });
  // The rows met the rules when they were locked: the changed ones do not.
  if (returned.length < ids.length) throw refusedChangeError();
  const byId = new Map(returned.map((row) => [row.rest[3], row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

const storedBytesMax = 16 * rowBytesMax;

async function queryRows(
  tx: Transaction,
  { text, values }: Statement,
  { output, restCount, isStored = true }: { output: Output; restCount: number; isStored?: boolean },
): Promise<ReturnedRow[]> {
  const rows: ReturnedRow[] = [];
  let bytesStored = 0;
  await tx.query(text, values, (bytes, start) => {
    const row = new JsonRows(256);
    const end = row.row(output.shape, bytes, start);
    requireStoredSize(row.end);
    if (isStored) bytesStored += row.end;
    rows.push({ json: isStored ? row.written() : noBytes, rest: readValues(bytes, end, restCount) });
  });
  if (bytesStored > storedBytesMax)
    throw fail('payload_too_large', {
      detail: 'The rows are too large to be shown together. Lower max_affected, or ask for no rows back.',
    });
  return rows;
}

const noBytes = new Uint8Array();
const shownMax = 5;

/** Bound to all rows as the caller sees them before and after, of which five are shown. */
function previewChanges(
  ctx: RowsCtx,
  { operation, action }: RowsChange,
  before: readonly ReturnedRow[],
  after: readonly ReturnedRow[],
  warnings: readonly string[] = [],
): FastPathResponse {
  const name = `${ctx.app.slug}/${ctx.table.catalogue.name}`;
  const rows = before.map((row, at) => ({
    before: visibleRow(ctx, row),
    after: action === 'delete' ? null : visibleRow(ctx, after[at] ?? null),
    id: showsIds(ctx) ? (row.rest[0] ?? '') : String(at + 1),
  }));
  const digest = sha256(JSON.stringify(rows)).slice(0, 16);
  const summary = {
    action: operation.id,
    target: { kind: 'table', id: ctx.table.catalogue.name, name },
    before: {},
    after: { affected: rows.length, digest },
  };
  recordRows(ctx, Math.min(rows.length, shownMax));
  const shown = rows.slice(0, shownMax).map(({ id, before, after }) => ({
    action: operation.id,
    target: { kind: `row ${id}`, id, name },
    before,
    after,
  }));
  return planResponse(operation, [summary, ...shown], warnings);
}

export const showsIds = ({ table }: RowsCtx) => table.key === table.catalogue.idColumn;

function respond(ctx: RowsCtx, { action }: RowsChange, changed: readonly ReturnedRow[]): FastPathResponse {
  const { isMinimal, isRepresentation } = parsePreferences(ctx.request);
  if (isMinimal) return emptyResponse(204);
  const { table } = ctx;
  const parts = [`"${action}d":${changed.length}`];
  if (showsIds(ctx)) {
    const ids = changed.map(({ rest }) => idJson(table.catalogue.idColumn.type, rest[3] ?? null));
    parts.push(`"ids":${JSON.stringify(ids)}`);
  }
  if (isRepresentation) {
    const visible = changed.filter(({ rest }) => rest[2] === 'true');
    recordRows(ctx, visible.length);
    parts.push(`"data":[${visible.map(({ json }) => Buffer.from(json).toString('utf8')).join(',')}]`);
    if (action === 'update')
      parts.push(`"etags":${JSON.stringify(visible.map((row) => rowEtag(table, row, row.rest[1] ?? '')))}`);
  }
  return jsonResponse(200, `{${parts.join(',')}}`);
}
