import { rawDbConnectionsMax } from '@svc/contract/raw-db.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { lockRawDbRow, updateRawDbRow } from './store.ts';

/** When its app gets another resource preset: connections that are open stay. */
export async function resizeRawDatabase(
  ctx: MutationCtx,
  of: { tenantId: string; appId: string; preset: keyof typeof rawDbConnectionsMax },
): Promise<void> {
  const row = await lockRawDbRow(ctx.db, of.tenantId, of.appId);
  const connections_max = rawDbConnectionsMax[of.preset];
  if (!row || row.state === 'dropping' || row.connections_max === connections_max) return;
  await updateRawDbRow(ctx.db, of.tenantId, of.appId, { connections_max });
  ctx.enqueue('rawDb.settle', { tenant_id: of.tenantId, database: row.database });
}
