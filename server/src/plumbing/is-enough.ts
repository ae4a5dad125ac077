import type { AppRelation } from '@svc/contract/endpoint.ts';
import type { AppAccess, TenantAccess } from './context.ts';

/** Whether what a member is to an app that they see is enough for what an endpoint asks of them. */
export function isEnough(
  wanted: AppRelation,
  { relation }: Pick<AppAccess, 'relation'>,
  { role }: Pick<TenantAccess, 'role'>,
): boolean {
  const isOneOfOwners = ownsApp(relation);
  return {
    visible: true,
    owner: relation === 'owner',
    owners: isOneOfOwners,
    owners_or_admin: isOneOfOwners || role === 'tenant_admin',
    admin: role === 'tenant_admin',
    representative_or_admin: relation === 'owner' || role === 'tenant_admin',
  }[wanted];
}

/** Whether somebody is the representative owner or a co-owner. */
export function ownsApp(relation: AppAccess['relation']): boolean {
  return relation === 'owner' || relation === 'co_owner';
}
