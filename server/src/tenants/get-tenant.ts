import type { TenantCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { tenantRecord } from './rules.ts';
import { findTenantRow } from './store.ts';

export async function getTenant(ctx: TenantCtx) {
  const row = await findTenantRow(ctx.db, ctx.tenant.id);
  if (!row) throw fail('not_found');
  return { ...tenantRecord(row), role: ctx.tenant.role };
}
