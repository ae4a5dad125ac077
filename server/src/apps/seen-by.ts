import { visibilities } from '@svc/contract/apps.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { appsSharedWith, type Seen } from './list-store.ts';
import { reaches } from './rules.ts';

/** What a listing may show: never more than the caller could get one by one. */
export async function seenBy({ db, tenant, caller }: TenantCtx): Promise<Seen> {
  if (tenant.role === 'tenant_admin') return 'all';
  return openTo({ db, tenant, caller });
}

/** What is open to somebody by visibility or by what they are to it; that an admin governs every app is left out. */
export async function openTo({
  db,
  tenant,
  caller,
}: Pick<TenantCtx, 'db' | 'tenant' | 'caller'>): Promise<Seen> {
  const shared = await appsSharedWith(db, tenant.id, caller.userId);
  return {
    open: visibilities.filter((visibility) => reaches(visibility, 'none', 'tenant_member')),
    ownerId: caller.userId,
    ids: shared.filter((app) => reaches(app.visibility, app.relation, 'tenant_member')).map(({ id }) => id),
  };
}
