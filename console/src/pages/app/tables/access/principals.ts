import type { principalTypes } from '@svc/contract/tables.ts';

export type PrincipalType = (typeof principalTypes)[number];

export const principalLabels: Record<PrincipalType, string> = {
  user: 'A person',
  app: 'An app',
  role: 'A role',
};

export const roleLabels: Record<string, string> = {
  tenant_member: 'all members of the tenant',
  tenant_admin: 'admins of the tenant',
};

/** What people call those who are let in. */
export function nameOf(grant: {
  principal_type: PrincipalType;
  principal_id: string;
  principal_name: string;
}): string {
  if (grant.principal_type === 'role') return roleLabels[grant.principal_id] ?? grant.principal_id;
  return grant.principal_name || `${grant.principal_id}, who is no more`;
}
