import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { memberStatuses, tenantRoles } from './identity.ts';
import { resourceTiers } from './limits.ts';
import {
  displayName,
  empty,
  page,
  pageQuery,
  someOf,
  tenantParams,
  text,
  timestamp,
  unchanged,
  uuid,
  wholeNumber,
} from './shapes.ts';
import { deploymentReviews, tenantNameCharsMax } from './tenants.ts';

export const Tenant = z.object({
  id: uuid,
  slug: z.string(),
  name: z.string(),
  max_resource_tier: z.enum(resourceTiers),
  review_deployments: z.enum(deploymentReviews).meta({
    description:
      'Which running apps need a review of each new deployment: those with visibility `internet`, all beyond `private`, or none.',
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
  since: timestamp,
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
