import { addCoOwner, listCoOwners, removeCoOwner } from '@svc/contract/apps.ts';
import { addAppMember, listAppMembers, removeAppMember, transferOwnership } from '@svc/contract/owners.ts';
import { defineCommand } from '../../command.ts';
import type { Flags } from '../../framework/declaration.ts';
import { appFlag, pageFlags } from '../../inputs/common.ts';
import { appMemberView, ownerView, transferView } from '../../views/apps.ts';

export const appsCoOwnersList = defineCommand({
  words: 'apps co-owners list',
  summary: 'List the representative owner and the co-owners of an app',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listCoOwners,
  view: ownerView,
  examples: { '--app pet-shop': 'List who may change the app' },
});

export const appsCoOwnersAdd = defineCommand({
  words: 'apps co-owners add',
  summary: 'Make a member of the tenant a co-owner of an app',
  kind: 'mutate',
  flags: {
    ...appFlag,
    user: { type: 'string', placeholder: 'user', required: true, summary: 'User id or e-mail address' },
  },
  endpoint: addCoOwner,
  input: ({ flags }) => ({ body: { user_id: flags.user } }),
  examples: { '--app pet-shop --user ada@example.com --execute': 'Share the app with a colleague' },
});

export const appsCoOwnersRemove = defineCommand({
  words: 'apps co-owners remove',
  summary: 'Remove a co-owner, whose access as an owner ends at once',
  kind: 'mutate',
  flags: {
    ...appFlag,
    user: { type: 'string', placeholder: 'user', required: true, summary: 'User id or e-mail address' },
  },
  endpoint: removeCoOwner,
  examples: { '--app pet-shop --user ada@example.com --execute': 'Remove a co-owner, or step down' },
});

export const appsOwnershipTransfer = defineCommand({
  words: 'apps ownership transfer',
  summary: 'Transfer an app to another member of the tenant; you stay a co-owner',
  description:
    'Only the representative owner can transfer an app, and only the new owner can transfer it back. A tenant admin ' +
    'can do it if the owner is suspended or has left the tenant.',
  kind: 'mutate',
  confirm: true,
  flags: {
    ...appFlag,
    to: { type: 'string', placeholder: 'user', required: true, summary: 'User id or e-mail address' },
  },
  endpoint: transferOwnership,
  input: ({ flags }) => ({ body: { to: flags.to } }),
  view: transferView,
  examples: {
    '--app pet-shop --to ada@example.com': 'Preview it',
    '--app pet-shop --to ada@example.com --execute --yes': 'Transfer it without confirmation',
  },
});

export const appsMembersList = defineCommand({
  words: 'apps members list',
  summary: 'List everybody who belongs to an app: owner, co-owners, invited groups and members',
  description:
    'svc apps members <app> does the same; name an app called list, add or remove here, or by its id.',
  kind: 'read',
  positionals: [{ name: 'app', summary: 'App id or slug' }],
  flags: pageFlags,
  endpoint: listAppMembers,
  view: appMemberView,
  examples: {
    'pet-shop': 'The first page',
    'pet-shop --all': 'Everybody',
  },
});

const personOrGroup = {
  user: {
    type: 'string',
    placeholder: 'user',
    summary: 'User id or e-mail address',
    excludes: ['group'],
  },
  group: { type: 'string', placeholder: 'group', summary: 'Group id or name' },
} as const satisfies Flags;

export const appsMembersAdd = defineCommand({
  words: 'apps members add',
  summary: 'Invite a member or a group of the tenant to an app',
  description: 'Invited members can see the app while its visibility is invite_only.',
  kind: 'mutate',
  flags: {
    ...appFlag,
    ...personOrGroup,
  },
  oneRequired: [['user', 'group']],
  endpoint: addAppMember,
  input: ({ flags }) => ({ body: { user_id: flags.user, group_id: flags.group } }),
  examples: {
    '--app pet-shop --user ada@example.com --execute': 'Let a colleague see the app',
    '--app pet-shop --group engineers --execute': 'Let everybody in a group see the app',
  },
});

export const appsMembersRemove = defineCommand({
  words: 'apps members remove',
  summary: 'Remove an invited member or group; access through the invitation ends at once',
  kind: 'mutate',
  flags: {
    ...appFlag,
    ...personOrGroup,
  },
  oneRequired: [['user', 'group']],
  endpoint: removeAppMember,
  input: ({ flags }) => ({ params: { userID: flags.user ?? flags.group ?? '' } }),
  examples: { '--app pet-shop --user ada@example.com --execute': 'Remove a member, or leave' },
});
