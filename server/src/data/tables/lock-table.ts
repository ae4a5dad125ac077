import { isFileType } from '@svc/contract/file-type.ts';
import { recheckApp } from '../../apps/record/app-access.ts';
import { type AppCtx, type AppMutationCtx, type AuditedChange, appRef } from '../../core/context.ts';
import { sqlState } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { tableTag } from '../../core/tags.ts';
import { enableStorageForApp, isStorageEnabled } from '../storage/storage.ts';
import { requireNotArchived } from './rules.ts';
import { type ColumnRow, findTableRow, lockTableRow, type TableRow, updateTableRow } from './store.ts';

export async function requireTable(ctx: AppCtx, ref: string): Promise<TableRow> {
  const row = await findTableRow(ctx.db, appRef(ctx), ref);
  if (!row) throw fail('not_found');
  return row;
}

/** Every schema change starts here. Lock order: the row in the catalogue, then the physical table. */
export async function lockTable(ctx: AppMutationCtx, ref: string): Promise<TableRow> {
  const row = await lockTableRow(ctx.db, appRef(ctx), ref).catch((error: unknown) => {
    throw sqlState(error) === '55P03' ? fail('table_busy', {}, { cause: error }) : error;
  });
  await ctx.rows.requireSettled(ctx.app.id);
  requireNotArchived(await recheckApp(ctx, { required: 'owners' }));
  if (!row) throw fail('not_found');
  return row;
}

export async function saveTableChange(
  ctx: AppMutationCtx,
  row: TableRow,
  set: Partial<
    Pick<
      TableRow,
      | 'name'
      | 'description'
      | 'rules'
      | 'changes'
      | 'history_days'
      | 'soft_delete_days'
      | 'columns_made'
      | 'attributes_made'
    >
  > = {},
): Promise<Pick<TableRow, 'version' | 'updated_at'> & typeof set> {
  const saved = { ...set, version: row.version + 1, updated_at: ctx.now };
  await updateTableRow(ctx.db, row, saved);
  ctx.invalidate(tableTag(row.id));
  return saved;
}

/** Files are objects of the app's storage. */
export async function enableStorageForFiles(
  ctx: AppMutationCtx,
  columns: readonly Pick<ColumnRow, 'type'>[],
): Promise<void> {
  if (!columns.some(({ type }) => isFileType(type)) || (await isStorageEnabled(ctx.db, appRef(ctx)))) return;
  await enableStorageForApp(ctx, ctx.app);
}

export function requireColumn(row: TableRow, name: string): ColumnRow {
  const column = row.columns.find((each) => each.name === name);
  if (!column) throw fail('not_found', { detail: `The table has no column ${name}.` });
  return column;
}

export function auditTable(
  ctx: AppMutationCtx,
  action: string,
  { id, name }: Pick<TableRow, 'id' | 'name'>,
  before: AuditedChange['before'],
  after: AuditedChange['after'],
): void {
  ctx.audit({ action, appId: ctx.app.id, target: { kind: 'table', id, name }, before, after });
}
