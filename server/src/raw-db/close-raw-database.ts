import type { MutationCtx } from '../plumbing/context.ts';
import { lockRawDbRow, updateRawDbRow } from './store.ts';

/** When its app is deleted: the data stay, nobody logs in any more, and whoever is connected is put out. */
export function closeRawDatabase(ctx: MutationCtx, of: { tenantId: string; appId: string }): Promise<void> {
  return setClosed(ctx, of, { is_closed: true });
}

/** When its app is restored: with the same data and the same login, once it is ready. */
export function reopenRawDatabase(ctx: MutationCtx, of: { tenantId: string; appId: string }): Promise<void> {
  return setClosed(ctx, of, { is_closed: false, state: 'creating' });
}

async function setClosed(
  ctx: MutationCtx,
  { tenantId, appId }: { tenantId: string; appId: string },
  set: { is_closed: boolean; state?: 'creating' },
): Promise<void> {
  const row = await lockRawDbRow(ctx.db, tenantId, appId);
  if (!row || row.state === 'dropping' || row.is_closed === set.is_closed) return;
  await updateRawDbRow(ctx.db, tenantId, appId, set);
  ctx.enqueue('rawDb.settle', { tenant_id: tenantId, database: row.database });
}
