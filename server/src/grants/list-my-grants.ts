import type { TenantCtx } from '../plumbing/context.ts';
import { grantRecord, listActiveGrantRows } from './store.ts';

export async function listMyGrants(ctx: TenantCtx) {
  return (await listActiveGrantRows(ctx.db, ctx.tenant.id, ctx.caller.userId)).map(grantRecord);
}
