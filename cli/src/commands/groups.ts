import {
  addGroupMember,
  createGroup,
  deleteGroup,
  getGroup,
  listGroupMembers,
  listGroups,
  removeGroupMember,
  updateGroup,
} from '@svc/contract/groups.ts';
import { defineCommand } from '../command.ts';
import type { Flags, Positional } from '../framework/declaration.ts';
import { flagFields, pageFlags } from '../inputs/common.ts';
import { groupMemberView, groupView } from '../views/access.ts';

const groupPositional = { name: 'group', summary: 'Group id or name' } as const satisfies Positional;

const userFlag = {
  user: { type: 'string', placeholder: 'user', required: true, summary: 'User id or e-mail address' },
} as const satisfies Flags;

export const groupsList = defineCommand({
  words: 'groups list',
  summary: 'List the groups of the tenant',
  kind: 'read',
  flags: { q: { type: 'string', placeholder: 'text', summary: 'Part of a name' }, ...pageFlags },
  endpoint: listGroups,
  input: ({ flags }) => ({ query: { q: flags.q } }),
  view: groupView,
  examples: { '--all': 'List every group, with the number of members' },
});

export const groupsGet = defineCommand({
  words: 'groups get',
  summary: 'Show one group',
  kind: 'read',
  positionals: [groupPositional],
  endpoint: getGroup,
  examples: { engineers: 'By its name' },
});

export const groupsCreate = defineCommand({
  words: 'groups create',
  summary: 'Create a group (tenant admins)',
  description:
    'Members of a group get its grants, table grants and invitations to apps. Groups of an ' +
    'identity provider are created by SCIM or at sign-in, not here.',
  kind: 'mutate',
  positionals: [{ name: 'name', summary: 'Short name: 2 to 63 of a-z, 0-9 and -' }],
  flags: {
    'display-name': { type: 'string', summary: 'Display name (the short name)' },
    description: { type: 'string', summary: 'Description' },
  },
  endpoint: createGroup,
  input: ({ positionals, flags }) => ({
    body: { name: positionals.name, ...flagFields(flags, 'display-name', 'description') },
  }),
  view: groupView,
  examples: { 'engineers --display-name Engineers --execute': 'Create a group' },
});

export const groupsUpdate = defineCommand({
  words: 'groups update',
  summary: 'Change the name or description of a local group (tenant admins)',
  kind: 'mutate',
  positionals: [groupPositional],
  flags: {
    name: { type: 'string', placeholder: 'name', summary: 'New short name' },
    'display-name': { type: 'string', summary: 'New display name' },
    description: { type: 'string', summary: 'Description; empty clears it' },
  },
  oneRequired: [['name', 'display-name', 'description']],
  endpoint: updateGroup,
  input: ({ flags }) => ({ body: flagFields(flags, 'name', 'display-name', 'description') }),
  view: groupView,
  examples: { "engineers --description 'Everybody who deploys' --execute": 'Describe it' },
});

export const groupsDelete = defineCommand({
  words: 'groups delete',
  summary: 'Delete a group (tenant admins); access through it ends at once',
  kind: 'mutate',
  confirm: true,
  positionals: [groupPositional],
  endpoint: deleteGroup,
  deletedId: getGroup,
  examples: {
    engineers: 'Preview it: the plan lists the grants that end',
    'engineers --execute --yes': 'Delete it without confirmation',
  },
});

export const groupsMembersList = defineCommand({
  words: 'groups members list',
  summary: 'List the members of a group (tenant admins)',
  kind: 'read',
  positionals: [groupPositional],
  flags: {
    q: { type: 'string', placeholder: 'text', summary: 'Part of a name or of an e-mail address' },
    ...pageFlags,
  },
  endpoint: listGroupMembers,
  input: ({ flags }) => ({ query: { q: flags.q } }),
  view: groupMemberView,
  examples: { 'engineers --all': 'Everybody' },
});

export const groupsMembersAdd = defineCommand({
  words: 'groups members add',
  summary: 'Add a member of the tenant to a local group (tenant admins)',
  kind: 'mutate',
  positionals: [groupPositional],
  flags: userFlag,
  endpoint: addGroupMember,
  input: ({ flags }) => ({ body: { user_id: flags.user } }),
  view: groupMemberView,
  examples: { 'engineers --user ada@example.com --execute': 'Add a colleague' },
});

export const groupsMembersRemove = defineCommand({
  words: 'groups members remove',
  summary: 'Remove a member from a local group; access through it ends at once',
  kind: 'mutate',
  positionals: [groupPositional],
  flags: userFlag,
  endpoint: removeGroupMember,
  examples: { 'engineers --user ada@example.com --execute': 'Remove a colleague' },
});
