import type { Ctx } from '../plumbing/context.ts';
import { tenantRecord } from './rules.ts';
import { listTenantRowsOf } from './store.ts';

/** The tenants the caller is a member of; a person is in few. */
export async function listOwnTenants(ctx: Pick<Ctx, 'db' | 'caller'>) {
  const rows = await listTenantRowsOf(ctx.db, ctx.caller.userId);
  return rows.map((row) => ({ ...tenantRecord(row), role: row.role }));
}
