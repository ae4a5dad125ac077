import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { memberStatuses, tenantRoles } from './identity.ts';
import { resourceTiers } from './limits.ts';
import {
  chars,
  displayName,
  empty,
  page,
  pageQuery,
  ref,
  someOf,
  tenantParams,
  text,
  timestamp,
  unchanged,
  uuid,
  wholeNumber,
} from './shapes.ts';
import {
  attributeNameFault,
  deploymentReviews,
  inviteOnlyPeopleMax,
  memberAttributeCharsMax,
  tenantNameCharsMax,
} from './tenants.ts';

export const Tenant = z.object({
  id: uuid,
  slug: z.string(),
  name: z.string(),
  max_resource_tier: z.enum(resourceTiers),
  review_deployments: z.enum(deploymentReviews).meta({
    description:
      'Which running apps need a review of each new deployment: those with visibility `internet`, all beyond `private`, or none.',
  }),
  invite_only_people_max: z.int().meta({
    description:
      'A request for `invite_only` of an app with at most this many invited people, and no groups, is approved by policy at once; 0: never.',
  }),
  access_requests: z.boolean().meta({
    description: 'Whether members may learn that an `invite_only` app exists, and ask its owners for access.',
  }),
  require_second_factor: z.boolean(),
  created_at: timestamp,
});

export const OwnTenant = Tenant.extend({ role: z.enum(tenantRoles) });

export const Member = z.object({
  user_id: uuid,
  email: z.string(),
  name: z.string(),
  role: z.enum(tenantRoles),
  status: z.enum(memberStatuses),
  attributes: z.record(z.string(), z.string()).meta({
    description: 'Values for filters of rows: `@me.region` is the attribute `region` of the caller.',
  }),
  since: timestamp,
});

/** An empty value removes the attribute. */
const attributeChanges = z.record(text, chars(0, memberAttributeCharsMax)).superRefine((changes, issues) => {
  for (const name of Object.keys(changes)) {
    const message = attributeNameFault(name);
    if (message !== null) issues.addIssue({ code: 'custom', path: [name], message });
  }
});

export const AuditEntry = z.object({
  seq: z.int(),
  at: timestamp,
  actor: z.object({ kind: z.string(), id: z.string(), name: z.string() }),
  action: z.string(),
  target: z.object({ kind: z.string(), id: z.string(), name: z.string() }),
  changes: z.array(
    z.object({ path: z.string(), before: z.unknown(), after: z.unknown(), effect: z.string() }),
  ),
  request_id: z.string(),
  hash: z.string(),
});

const memberParams = tenantParams.extend({ userID: uuid });

export const listTenants = { query: pageQuery, answer: page(OwnTenant) };
export const getTenant = { params: tenantParams, answer: OwnTenant };
export const updateTenant = {
  params: tenantParams,
  body: someOf({
    name: displayName(1, tenantNameCharsMax),
    max_resource_tier: z.enum(resourceTiers).meta({
      description: 'Checked when a tier is chosen; apps with a larger tier keep it.',
    }),
    review_deployments: z.enum(deploymentReviews),
    invite_only_people_max: z.int().min(0).max(inviteOnlyPeopleMax),
    access_requests: z.boolean(),
    require_second_factor: z.boolean().meta({
      description: 'Members who sign in with a password must add a passkey or an authenticator app.',
    }),
  }),
  answer: OwnTenant.extend({ changed: unchanged }),
};
export const listMembers = {
  params: tenantParams,
  query: pageQuery.extend({
    q: text.min(1).max(200).optional().meta({ description: 'Part of a name or e-mail address.' }),
  }),
  answer: page(Member),
};
const memberRefParams = tenantParams.extend({
  userID: ref.meta({ description: "A user's id, or a member's e-mail address." }),
});
export const getMember = { params: memberRefParams, answer: Member };
export const updateMember = {
  params: memberRefParams,
  body: someOf({
    role: z.enum(tenantRoles),
    attributes: attributeChanges.meta({
      description: 'Attributes to set; an empty value removes one, and others stay.',
    }),
  }),
  answer: Member,
};
export const setMember = {
  params: memberParams,
  body: z.strictObject({ role: z.enum(tenantRoles) }),
  answer: Member,
};
export const removeMember = { params: memberParams, answer: empty };
const auditList = {
  query: z.strictObject({
    cursor: text.max(200).optional(),
    per_page: wholeNumber(1, 200).default(50),
    action: text.max(100).optional(),
    target_id: text.max(200).optional(),
  }),
  answer: z.object({ items: z.array(AuditEntry), next_cursor: z.string().nullable() }),
};
export const listAuditEntries = { params: tenantParams, ...auditList };
export const listAppAuditEntries = { params: appParams, ...auditList };
