import { endpoint, who } from './endpoint.ts';
import type * as shapes from './owners.shapes.ts';

export const appMembersMax = 1_000;
/** What somebody is to an app, from the most to the least. */
export const appRoles = ['owner', 'co_owner', 'member'] as const;

const tenantWide = { credential: 'login', role: 'tenant_member', outsider: 'not_found' } as const;
const governed = { ...tenantWide, app: 'owners_or_admin' } as const;
const base = '/api/v1/tenants/{tenantID}/apps/{app}';

/** An admin gets as far as the verb, which lets them through only where the owner can not do it any more. */
export const transferOwnership = endpoint<typeof shapes.transferOwnership>()({
  id: 'ownership.transfer',
  method: 'POST',
  path: `${base}/ownership/transfer`,
  summary: 'Hand an app over to a member of the tenant; its owner so far stays as a co-owner',
  kind: 'mutate',
  authority: governed,
  who: who('O:y C:n A:n M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
  irreversible: true,
});

export const listAppMembers = endpoint<typeof shapes.listAppMembers>()({
  id: 'appMembers.list',
  method: 'GET',
  path: `${base}/members`,
  summary: 'Everybody who belongs to an app: its owner, its co-owners and those who are invited',
  kind: 'read',
  authority: governed,
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
});

export const addAppMember = endpoint<typeof shapes.addAppMember>()({
  id: 'appMembers.add',
  method: 'POST',
  path: `${base}/members`,
  summary: 'Invite a member of the tenant, who then sees the app while it is `invite_only`',
  kind: 'mutate',
  authority: { ...tenantWide, app: 'owners' },
  who: who('O:y C:y A:n M:n P:n N:n X:n'),
  status: 201,
  errors: ['not_found', 'limit_reached', 'unique_violation'],
});

/** Who was invited and sees the app may leave by themself; the rest is for its owners and for admins. */
export const removeAppMember = endpoint<typeof shapes.removeAppMember>()({
  id: 'appMembers.remove',
  method: 'DELETE',
  path: `${base}/members/{userID}`,
  summary: 'Take an invitation back at once',
  kind: 'mutate',
  authority: { ...tenantWide, app: 'visible' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  status: 204,
  errors: ['not_found'],
});
