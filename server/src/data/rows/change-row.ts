import { rowBytesMax } from '@svc/contract/rows.ts';
import { fail } from '../../core/problem.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import { emptyResponse, jsonResponse, parsePreferences, type RowsCtx } from './context.ts';
import {
  ifMatchVersions,
  parseReturnedRow,
  queryIn,
  queryRow,
  type ReturnedRow,
  type RunQuery,
  rowEtag,
  whereRowId,
} from './get-row.ts';
import { parseChanges } from './parse-row.ts';
import type { PlannedCondition } from './plan.ts';
import { deleteSql, type InsertedColumn, oneSql, type Statement, updateSql } from './sql.ts';
import { ifPlanHeader, previewResponse, runWrite } from './write-transaction.ts';

interface RowChange {
  id: string;
  row: readonly PlannedCondition[];
  dryRun: boolean;
  mayGrow?: boolean;
  operation: { id: string; irreversible: boolean };
  statement(version: string | null): Statement;
  respond(changed: ReturnedRow): FastPathResponse;
}

async function changeRow(ctx: RowsCtx, change: RowChange): Promise<FastPathResponse> {
  if (!change.dryRun && !change.mayGrow && ifPlanHeader(ctx.request) === null) {
    return change.respond(await executeChange(ctx, change, queryIn(ctx, 'write')));
  }
  return runWrite(ctx, { dryRun: change.dryRun, key: null, bodyHash: () => '' }, async (tx, mode) => {
    if (mode === 'execute') {
      const changed = await executeChange(ctx, change, tx.query);
      if (change.mayGrow && changed.json.length > storedBytesMax) throw fail('payload_too_large');
      return change.respond(changed);
    }
    const { all } = ctx.table;
    const before = await queryRow(tx.query, oneSql(ctx.table, all, change.row), all, 1);
    const after = await executeChange(ctx, change, tx.query);
    return previewResponse(ctx, change.operation, {
      id: change.id,
      before: visibleRow(ctx, before),
      after: change.operation.irreversible ? null : visibleRow(ctx, after),
    });
  });
}

/** A row's JSON may be longer than its input: spaces in jsonb, escapes in texts. */
const storedBytesMax = 2 * rowBytesMax;

async function executeChange(ctx: RowsCtx, change: RowChange, run: RunQuery): Promise<ReturnedRow> {
  const { all } = ctx.table;
  const versions = ifMatchVersions(ctx.request.headers.get('if-match'));
  for (const version of versions ?? [null]) {
    const changed = await queryRow(run, change.statement(version), all, 2);
    if (changed) return changed;
  }
  if (versions === null) throw fail('not_found');
  const existing = await queryRow(run, oneSql(ctx.table, all, change.row), all, 1);
  throw fail(existing ? 'precondition_failed' : 'not_found');
}

function visibleRow(ctx: RowsCtx, returned: ReturnedRow | null): Record<string, unknown> {
  if (!ctx.access.read) return {};
  const row = parseReturnedRow(returned);
  for (const { role, name } of ctx.table.catalogue.columns) if (role === 'updated_at') delete row[name];
  return row;
}

const smallChangeChars = 4 * 1024;

export async function updateRow(ctx: RowsCtx, id: string, body: string, dryRun: boolean) {
  const row = whereRowId(ctx, id);
  const changes: InsertedColumn[] = parseChanges(ctx.table, body);
  const updatedAt = ctx.table.catalogue.columns.find(({ role }) => role === 'updated_at');
  // An empty update changes neither `updated_at` nor the version.
  if (changes.length > 0 && updatedAt) changes.push({ column: updatedAt, value: { sql: 'now()' } });
  const isMinimal = !ctx.access.read || parsePreferences(ctx.request).isMinimal;
  return changeRow(ctx, {
    id,
    row,
    dryRun,
    mayGrow: body.length > smallChangeChars,
    operation: { id: 'rows.update', irreversible: false },
    statement: (version) => updateSql(ctx.table, changes, row, version),
    respond: ({ json, rest }) => {
      const headers = { etag: rowEtag(ctx.table, rest[1] ?? '') };
      return isMinimal ? emptyResponse(204, headers) : jsonResponse(200, json, headers);
    },
  });
}

export async function deleteRow(ctx: RowsCtx, id: string, dryRun: boolean) {
  const row = whereRowId(ctx, id);
  return changeRow(ctx, {
    id,
    row,
    dryRun,
    operation: { id: 'rows.delete', irreversible: true },
    statement: (version) => deleteSql(ctx.table, row, version),
    respond: () => emptyResponse(204),
  });
}
