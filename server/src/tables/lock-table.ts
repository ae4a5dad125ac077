import { confirmApp } from '../apps/confirm-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { sqlState } from '../plumbing/database-errors.ts';
import { fail } from '../plumbing/problem.ts';
import { refuseArchived } from './rules.ts';
import { lockTableRow, type TableRow } from './store.ts';

/**
 * The table whose shape is about to change, by who may change it still. The catalogue's row is locked first, the table
 * behind it after.
 */
export async function lockTable(ctx: AppMutationCtx, ref: string): Promise<TableRow> {
  const row = await lockTableRow(ctx.db, placeOf(ctx), ref).catch((error: unknown) => {
    // Somebody else changes it, and takes long.
    throw sqlState(error) === '55P03' ? fail('table_busy', {}, { cause: error }) : error;
  });
  refuseArchived(await confirmApp(ctx, { wanted: 'owners' }));
  if (!row) throw fail('not_found');
  return row;
}

export const placeOf = (ctx: Pick<AppMutationCtx, 'tenant' | 'app'>) => ({
  tenantId: ctx.tenant.id,
  appId: ctx.app.id,
});
