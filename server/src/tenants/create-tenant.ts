import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { checkedSlug, checkedTenantName, type TenantRecord, tenantRecord } from './rules.ts';
import { insertTenantRow, type TenantRow } from './store.ts';

export async function createTenant(
  ctx: MutationCtx,
  input: { slug: string; name?: string; maxResourceTier?: TenantRow['max_resource_tier'] },
): Promise<TenantRecord> {
  const slug = checkedSlug(input.slug);
  const row: TenantRow = {
    id: ctx.newId(),
    slug,
    name: checkedTenantName(input.name ?? slug),
    max_resource_tier: input.maxResourceTier ?? 'L',
    created_at: ctx.now,
  };
  if (!(await insertTenantRow(ctx.db, row))) {
    throw fail('unique_violation', {
      detail: `A tenant ${slug} exists already.`,
      errors: [{ field: 'slug', code: 'unique_violation', detail: 'is in use' }],
    });
  }
  ctx.audit({
    action: 'tenants.create',
    target: { kind: 'tenant', id: row.id, name: slug },
    before: null,
    after: { slug, name: row.name, max_resource_tier: row.max_resource_tier },
  });
  return tenantRecord(row);
}
