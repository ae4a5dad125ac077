import { tenantRoles } from '@svc/contract/identity.ts';

export type Role = (typeof tenantRoles)[number];

const labels: Record<Role, string> = { tenant_member: 'member', tenant_admin: 'admin' };

export const roleData = tenantRoles.map((value) => ({ value, label: labels[value] }));
