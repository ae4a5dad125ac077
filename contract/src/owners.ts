import { act, change, member, owners, ownersOrAdmin, read, remove, who } from './endpoint.ts';
import type * as shapes from './owners.shapes.ts';

export const appMembersMax = 1_000;
export const appRoles = ['owner', 'co_owner', 'member'] as const;

const base = '/api/v1/tenants/{tenantID}/apps/{app}';

/** Admins may transfer only where the owner cannot any more; the use case checks that. */
export const transferOwnership = act<typeof shapes.transferOwnership>()({
  id: 'ownership.transfer',
  path: `${base}/ownership/transfer`,
  summary: 'Transfer an app to another member of the tenant; the previous owner becomes a co-owner',
  authority: { ...member, app: 'owners_or_admin' },
  who: who('O:y C:n A:n M:n P:n N:n X:n'),
  irreversible: true,
});

export const listAppMembers = read<typeof shapes.listAppMembers>()({
  id: 'appMembers.list',
  path: `${base}/members`,
  summary: 'List the owner, co-owners, invited members and groups of an app',
  ...ownersOrAdmin,
});

export const addAppMember = change<typeof shapes.addAppMember>()({
  id: 'appMembers.add',
  path: `${base}/members`,
  summary: 'Invite a member or a group of the tenant, who can then see the app while it is `invite_only`',
  ...owners,
  errors: ['limit_reached', 'unique_violation'],
});

/** Invited members may remove themselves; owners and admins may remove anybody. */
export const removeAppMember = remove<typeof shapes.removeAppMember>()({
  id: 'appMembers.remove',
  path: `${base}/members/{userID}`,
  summary: 'Withdraw an invitation; takes effect immediately',
  authority: { ...member, app: 'visible' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
});
