import { holdApp } from '../apps/hold-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { connectRepository } from './connect-repository.ts';
import type { PreparedConnection } from './prepare-connection.ts';
import { type ConnectionRecord, connectionRecord } from './rules.ts';

export async function connectGit(
  ctx: AppMutationCtx,
  prepared: PreparedConnection,
): Promise<ConnectionRecord & { changed?: false }> {
  const app = await holdApp(ctx, { wanted: 'owners' });
  const place = { tenantId: ctx.tenant.id, appId: app.id };
  const { row, isChanged } = await connectRepository(ctx, {
    ...place,
    connectedBy: ctx.caller.userId,
    prepared,
  });
  return { ...connectionRecord(row), ...(isChanged ? {} : { changed: false }) };
}
