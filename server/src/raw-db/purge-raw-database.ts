import type { MutationCtx } from '../plumbing/context.ts';
import { deleteRawDbRow, lockRawDbRow } from './store.ts';

/** With its app: the row goes now, and the effect drops what no row stands for any more. */
export async function purgeRawDatabase(
  ctx: MutationCtx,
  { tenantId, appId }: { tenantId: string; appId: string },
): Promise<{ databases: 0 | 1 }> {
  const row = await lockRawDbRow(ctx.db, tenantId, appId);
  if (!row) return { databases: 0 };
  await deleteRawDbRow(ctx.db, tenantId, row.database);
  ctx.enqueue('rawDb.settle', { tenant_id: tenantId, database: row.database });
  return { databases: 1 };
}
