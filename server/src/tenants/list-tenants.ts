import type { Ctx } from '../plumbing/context.ts';
import { type TenantRecord, tenantRecord } from './rules.ts';
import { listTenantRows } from './store.ts';

/** All there are: for the operator. */
export async function listTenants(ctx: Pick<Ctx, 'db'>): Promise<TenantRecord[]> {
  return (await listTenantRows(ctx.db)).map(tenantRecord);
}
