import { admins, anyMember, change, read, remove, update } from './endpoint.ts';
import type * as shapes from './groups.shapes.ts';

export const groupsPerTenantMax = 2_000;
export const groupMembersMax = 10_000;
export const groupNameCharsMax = 200;
export const groupDescriptionCharsMax = 1_000;
/** Who decides the members: admins by hand, a claim of the OpenID provider, or a directory by SCIM. */
export const groupSources = ['local', 'claim', 'scim'] as const;

const collection = '/api/v1/tenants/{tenantID}/groups';
const one = `${collection}/{group}`;

export const listGroups = read<typeof shapes.listGroups>()({
  id: 'groups.list',
  path: collection,
  summary: 'List the groups of the tenant, by name',
  ...anyMember,
});

export const createGroup = change<typeof shapes.createGroup>()({
  id: 'groups.create',
  path: collection,
  summary: 'Create a group',
  ...admins,
  errors: ['unique_violation', 'limit_reached'],
});

export const getGroup = read<typeof shapes.getGroup>()({
  id: 'groups.get',
  path: one,
  summary: 'Get a group',
  ...anyMember,
});

export const updateGroup = update<typeof shapes.updateGroup>()({
  id: 'groups.update',
  path: one,
  summary: 'Update the name or description of a local group',
  ...admins,
  errors: ['unique_violation', 'group_managed'],
});

export const deleteGroup = remove<typeof shapes.deleteGroup>()({
  id: 'groups.delete',
  path: one,
  summary: 'Delete a group; access that its members have through it ends immediately',
  ...admins,
  irreversible: true,
});

export const listGroupMembers = read<typeof shapes.listGroupMembers>()({
  id: 'groupMembers.list',
  path: `${one}/members`,
  summary: 'List the members of a group',
  ...admins,
});

export const addGroupMember = change<typeof shapes.addGroupMember>()({
  id: 'groupMembers.add',
  path: `${one}/members`,
  summary: 'Add a member of the tenant to a local group',
  ...admins,
  errors: ['group_managed', 'limit_reached'],
});

export const removeGroupMember = remove<typeof shapes.removeGroupMember>()({
  id: 'groupMembers.remove',
  path: `${one}/members/{userID}`,
  summary: 'Remove a member from a local group; access through it ends immediately',
  ...admins,
  errors: ['group_managed'],
});
