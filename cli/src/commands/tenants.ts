import { tenantRoles } from '@svc/contract/identity.ts';
import { resourceTiers } from '@svc/contract/limits.ts';
import {
  deploymentReviews,
  getMember,
  getTenant,
  inviteOnlyPeopleMax,
  listMembers,
  listTenants,
  removeMember,
  updateMember,
  updateTenant,
} from '@svc/contract/tenants.ts';
import { defineCommand, objectSchema } from '../command.ts';
import { pageFlags } from '../inputs/common.ts';
import { memberView, tenantView } from '../views/access.ts';

export const tenantsList = defineCommand({
  words: 'tenants list',
  summary: 'List the tenants that you are a member of',
  kind: 'read',
  flags: pageFlags,
  endpoint: listTenants,
  view: tenantView,
  examples: { '': 'List your tenants and your role in each' },
});

export const tenantsGet = defineCommand({
  words: 'tenants get',
  summary: 'Show the active tenant, or the one given with --tenant',
  kind: 'read',
  endpoint: getTenant,
  examples: { '--tenant demo': 'Show a tenant' },
});

export const tenantsUpdate = defineCommand({
  words: 'tenants update',
  summary: "Change the tenant's name, the tier limit, required reviews or the second factor",
  description:
    'Apps with a larger tier keep it until another is chosen; the preview shows how many there are. ' +
    '--review-deployments sets which running apps need a review of each new deployment before it goes live: ' +
    'those with visibility internet, all that are not private, or none (off). --invite-only-people-max lets apps with few ' +
    'invited people become invite_only without a review.',
  kind: 'mutate',
  flags: {
    name: { type: 'string', summary: 'New name' },
    'max-resource-tier': { type: 'enum', values: resourceTiers, summary: 'Largest tier of an app' },
    'review-deployments': {
      type: 'enum',
      values: deploymentReviews,
      summary: 'Apps whose new deployments need a review',
    },
    'invite-only-people-max': {
      type: 'integer',
      min: 0,
      max: inviteOnlyPeopleMax,
      placeholder: 'people',
      summary: 'Invited people up to which invite_only needs no review; 0 for never',
    },
    'access-requests': {
      type: 'enum',
      values: ['yes', 'no'],
      summary: 'Whether members may ask for access to invite_only apps whose URL they know',
    },
    'require-second-factor': {
      type: 'enum',
      values: ['yes', 'no'],
      summary: 'Whether members with a password need a passkey or an authenticator app',
    },
  },
  oneRequired: [
    [
      'name',
      'max-resource-tier',
      'review-deployments',
      'invite-only-people-max',
      'access-requests',
      'require-second-factor',
    ],
  ],
  endpoint: updateTenant,
  input: ({ flags: { 'require-second-factor': required, 'access-requests': requests, ...flags } }) => ({
    body: {
      name: flags.name,
      max_resource_tier: flags['max-resource-tier'],
      review_deployments: flags['review-deployments'],
      invite_only_people_max: flags['invite-only-people-max'],
      access_requests: requests === undefined ? undefined : requests === 'yes',
      require_second_factor: required === undefined ? undefined : required === 'yes',
    },
  }),
  examples: {
    "--name 'Acme Ltd' --execute": 'Rename the active tenant',
    '--max-resource-tier M': 'Preview the effect of a smaller limit',
    '--review-deployments all --execute': 'Review each deployment of every app that is not private',
    '--invite-only-people-max 10 --execute': 'Approve invite_only for up to 10 invited people by policy',
    '--access-requests yes --execute': 'Let members ask for access to invite_only apps',
    '--require-second-factor yes --execute': 'Require a second factor from the next sign-in on',
  },
});

export const tenantsUse = defineCommand({
  words: 'tenants use',
  summary: 'Set the active tenant of the profile',
  description: 'Stored in the profile on this machine. --tenant and SVC_TENANT override it.',
  kind: 'local',
  positionals: [{ name: 'tenant', summary: 'Tenant slug or id' }],
  output: objectSchema({
    profile: 'string',
    tenant: objectSchema({ id: 'string', slug: 'string', name: 'string', role: 'string' }),
  }),
  run: async (ctx, { positionals }) => {
    const session = await ctx.session();
    const found = await session.client.call(getTenant, { params: { tenantID: positionals.tenant } });
    const { setActiveTenant } = await import('../session/profile-store.ts');
    await setActiveTenant(ctx, found);
    const { id, slug, name, role } = found;
    return {
      value: { profile: session.profile, tenant: { id, slug, name, role } },
      text: () => `${slug} is now the active tenant of profile ${session.profile}.\n`,
    };
  },
  examples: { demo: 'Work in tenant demo from now on' },
});

export const membersList = defineCommand({
  words: 'members list',
  summary: 'List the members of the tenant with their roles',
  kind: 'read',
  flags: {
    q: { type: 'string', placeholder: 'text', summary: 'Part of a name or of an e-mail address' },
    ...pageFlags,
  },
  endpoint: listMembers,
  input: ({ flags }) => ({ query: { q: flags.q } }),
  view: memberView,
  examples: { '--all': 'List all members' },
});

export const membersGet = defineCommand({
  words: 'members get',
  summary: 'Show a member with role and attributes',
  kind: 'read',
  positionals: [{ name: 'user', summary: 'User id or e-mail address' }],
  endpoint: getMember,
  view: memberView,
  examples: { 'ada@example.com': 'Show a member' },
});

export const membersSet = defineCommand({
  words: 'members set',
  summary: "Add a user to the tenant, or change a member's role or attributes",
  description: 'Attributes are values for filters of rows: @me.region is the attribute region of the caller.',
  kind: 'mutate',
  positionals: [{ name: 'user', summary: "User id, or a member's e-mail address" }],
  flags: {
    role: { type: 'enum', values: tenantRoles, summary: 'Role in the tenant; needed to add a user' },
    attribute: {
      type: 'string',
      repeated: true,
      placeholder: 'name=value',
      summary: 'Attribute to set; name= removes it; may be repeated',
    },
  },
  oneRequired: [['role', 'attribute']],
  check: ({ flags }) => attributeFault(flags.attribute ?? []),
  endpoint: updateMember,
  input: ({ flags }) => ({
    body: {
      ...(flags.role && { role: flags.role }),
      ...(flags.attribute?.length && { attributes: Object.fromEntries(flags.attribute.map(splitAttribute)) }),
    },
  }),
  examples: {
    'ada@example.com --attribute region=eu --attribute department=sales --execute': 'Set two attributes',
    'ada@example.com --attribute region= --execute': 'Remove an attribute',
    '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --role tenant_admin --execute': 'Make a member an admin',
  },
});

function splitAttribute(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=');
  return [pair.slice(0, at), pair.slice(at + 1)];
}

function attributeFault(pairs: readonly string[]): string | undefined {
  const wrong = pairs.find((pair) => !pair.includes('='));
  return wrong === undefined ? undefined : `--attribute takes name=value, not ${JSON.stringify(wrong)}.`;
}

export const membersRemove = defineCommand({
  words: 'members remove',
  summary: 'Remove a member from the tenant; access ends at once',
  kind: 'mutate',
  positionals: [{ name: 'user', summary: 'User id' }],
  endpoint: removeMember,
  examples: { '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --execute': 'Remove a member' },
});
