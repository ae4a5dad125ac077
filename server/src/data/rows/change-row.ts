import { rowBytesMax } from '@svc/contract/rows.ts';
import { fail } from '../../core/problem.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import { equals } from '../tables/conditions.ts';
import { parseText } from '../tables/values.ts';
import { changeable } from './access.ts';
import { emptyResponse, jsonResponse, parsePreferences, type RowsCtx } from './context.ts';
import { withoutNewFileIds } from './files.ts';
import {
  ifMatchVersions,
  isNotModified,
  parseReturnedRow,
  queryIn,
  queryRow,
  type ReturnedRow,
  type RunQuery,
  rowEtag,
} from './get-row.ts';
import { parseChanges } from './parse-row.ts';
import { existsSql, oneSql, type Statement } from './sql.ts';
import { deleteSql, type GuardedRow, type InsertedColumn, updateSql } from './write-sql.ts';
import {
  cascadesToOthers,
  createCascades,
  hasCause,
  ifPlanHeader,
  losesDeleted,
  previewResponse,
  type RowWritten,
  runWrite,
  type WriteMode,
} from './write-transaction.ts';

export interface RowChange {
  id: string;
  action: 'update' | 'delete';
  row: GuardedRow;
  dryRun: boolean;
  mayGrow?: boolean;
  operation: { id: string; irreversible: boolean };
  statement(version: string | null): Statement;
  respond(changed: ReturnedRow): FastPathResponse;
}

async function changeRow(ctx: RowsCtx, change: RowChange): Promise<FastPathResponse> {
  const isCaused = hasCause(ctx.table) || (change.action === 'delete' && cascadesToOthers(ctx.table));
  if (!change.dryRun && !change.mayGrow && !isCaused && ifPlanHeader(ctx.request) === null) {
    return change.respond(await executeChange(ctx, change, queryIn(ctx, 'write')));
  }
  return runWrite(ctx, { dryRun: change.dryRun, key: null, bodyHash: () => '' }, async (tx, mode) => {
    if (mode === 'execute') {
      const changed = await executeChange(ctx, change, tx.query);
      if (change.mayGrow) requireStoredSize(changed.json.length);
      return change.respond(changed);
    }
    const preview = () => previewChange(ctx, change, tx.query);
    if (change.action === 'update')
      return previewResponse(ctx, change.operation, (await preview()).previewed);
    const cascades = createCascades(tx);
    const { previewed } = await cascades.count(ctx, preview, () => 1);
    return previewResponse(ctx, change.operation, previewed, cascades.warnings());
  });
}

async function previewChange(ctx: RowsCtx, change: RowChange, run: RunQuery) {
  const { all } = ctx.table;
  const before = await queryRow(run, oneSql(ctx.table, all, change.row.where), all, 1);
  const changed = await executeChange(ctx, change, run);
  const shown = visibleRow(ctx, before);
  const after =
    change.action === 'delete' ? null : withoutNewFileIds(ctx.table, shown, visibleRow(ctx, changed));
  return { changed, previewed: { id: change.id, before: shown, after } };
}

export async function changeRowIn(
  ctx: RowsCtx,
  change: RowChange,
  run: RunQuery,
  mode: WriteMode,
): Promise<RowWritten> {
  const { changed, previewed } =
    mode === 'preview'
      ? await previewChange(ctx, change, run)
      : { changed: await executeChange(ctx, change, run), previewed: null };
  requireStoredSize(changed.json.length);
  return { response: change.respond(changed), previewed };
}

/** A row's JSON may be longer than its input: spaces in jsonb, escapes in texts. */
const storedBytesMax = 2 * rowBytesMax;

export function requireStoredSize(bytes: number): void {
  if (bytes > storedBytesMax) throw fail('payload_too_large');
}

async function executeChange(ctx: RowsCtx, change: RowChange, run: RunQuery): Promise<ReturnedRow> {
  const { all } = ctx.table;
  const versions = await expectedVersions(ctx, change, run);
  for (const version of versions ?? [null]) {
    const changed = await queryRow(run, change.statement(version), all, 3);
    if (changed) return changed;
  }
  const existing = await queryRow(run, oneSql(ctx.table, all, change.row.where), all, 1);
  if (versions !== null) throw fail(existing ? 'precondition_failed' : 'not_found');
  // A row that the caller sees, or may change in another way, is no secret to them.
  const isKnown = existing !== null || (await mayChangeOtherwise(ctx, change, run));
  throw isKnown ? refusedChangeError() : fail('not_found');
}

export const refusedChangeError = () =>
  fail('forbidden', { detail: 'The rules of the table do not allow this change.' });

async function expectedVersions(
  ctx: RowsCtx,
  { row }: RowChange,
  run: RunQuery,
): Promise<readonly string[] | null> {
  const ifMatch = ctx.request.headers.get('if-match');
  const { table } = ctx;
  if (ifMatch === null || ifMatch.trim() === '*' || table.view.columns === null)
    return ifMatchVersions(ifMatch);
  const existing = await queryRow(run, oneSql(table, table.all, row.where), table.all, 1);
  const version = existing?.rest[0];
  return existing && version && isNotModified(ifMatch, rowEtag(table, existing, version)) ? [version] : [];
}

async function mayChangeOtherwise(ctx: RowsCtx, { action, row }: RowChange, run: RunQuery): Promise<boolean> {
  const { text, values } = existsSql(ctx.table, [...row.where, changeable(ctx.access, action)]);
  let found = false;
  await run(text, values, () => {
    found = true;
  });
  return found;
}

export function visibleRow(ctx: RowsCtx, returned: ReturnedRow | null): Record<string, unknown> {
  if (returned && returned.rest.length >= 3 && returned.rest[2] !== 'true') return {};
  const row = parseReturnedRow(returned);
  for (const { role, name } of ctx.table.catalogue.columns) if (role === 'updated_at') delete row[name];
  return row;
}

function guardedRow(
  { table, access }: RowsCtx,
  id: string,
  action: RowChange['action'],
  changes: readonly InsertedColumn[],
): GuardedRow {
  const { idColumn } = table.catalogue;
  const value = parseText(idColumn.type, id);
  // A masked or hidden id does not say which row is meant.
  const isUnclear = access.actions.has('read') && table.key !== idColumn;
  if (!value.ok || isUnclear) throw fail('not_found');
  // `updated_at` is set by the service.
  const columns = changes.filter(({ column }) => column.role === 'plain').map(({ column }) => column.name);
  return { where: [equals(idColumn, value.value)], allowed: changeable(access, action, columns) };
}

const smallChangeChars = 4 * 1024;

export function updatedColumns(ctx: RowsCtx, body: string): InsertedColumn[] {
  const changes: InsertedColumn[] = parseChanges(ctx.table, ctx.access, body);
  const updatedAt = ctx.table.catalogue.columns.find(({ role }) => role === 'updated_at');
  // An empty update changes neither `updated_at` nor the version.
  if (changes.length > 0 && updatedAt) changes.push({ column: updatedAt, value: { sql: 'now()' } });
  return changes;
}

export const updateRow = (ctx: RowsCtx, id: string, body: string, dryRun: boolean) =>
  changeRow(ctx, planUpdate(ctx, id, body, dryRun));

export function planUpdate(ctx: RowsCtx, id: string, body: string, dryRun: boolean): RowChange {
  const changes = updatedColumns(ctx, body);
  const row = guardedRow(ctx, id, 'update', changes);
  const { isMinimal } = parsePreferences(ctx.request);
  return {
    id,
    action: 'update',
    row,
    dryRun,
    mayGrow: body.length > smallChangeChars,
    operation: { id: 'rows.update', irreversible: false },
    statement: (version) => updateSql(ctx.table, changes, row, version),
    respond: (changed) => {
      const [, version = '', isVisible] = changed.rest;
      if (isVisible !== 'true') return emptyResponse(204);
      const headers = { etag: rowEtag(ctx.table, changed, version ?? '') };
      return isMinimal ? emptyResponse(204, headers) : jsonResponse(200, changed.json, headers);
    },
  };
}

export const deleteRow = (ctx: RowsCtx, id: string, dryRun: boolean) =>
  changeRow(ctx, planDelete(ctx, id, dryRun));

export function planDelete(ctx: RowsCtx, id: string, dryRun: boolean): RowChange {
  const row = guardedRow(ctx, id, 'delete', []);
  return {
    id,
    action: 'delete',
    row,
    dryRun,
    operation: { id: 'rows.delete', irreversible: losesDeleted(ctx.table) },
    statement: (version) => deleteSql(ctx.table, row, version),
    respond: () => emptyResponse(204),
  };
}
