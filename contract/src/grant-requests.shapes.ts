import { z } from 'zod';
import { AccessPolicy } from './access-policies.shapes.ts';
import { Connector } from './connectors.shapes.ts';
import { grantRequestStatuses, grantSecondsMax, grantSecondsMin } from './grant-requests.ts';
import { policyRefs, scope } from './grants.shapes.ts';
import { reasonCharsMax } from './grants.ts';
import { Preset } from './presets.shapes.ts';
import { chars, page, pageQuery, ref, tenantParams, timestamp, uuid } from './shapes.ts';

export const GrantRequest = z.object({
  id: uuid,
  connector_id: uuid,
  connector_slug: z.string().meta({ description: 'Empty when the connector was deleted.' }),
  connector_name: z.string(),
  preset_id: z.string(),
  preset_name: z.string(),
  scope_resource_paths: z.array(z.string()).meta({ description: 'Empty = the whole connector.' }),
  duration_seconds: z.int().meta({ description: 'Lifetime of the grant, counted from the approval.' }),
  reason: z.string(),
  status: z.enum(grantRequestStatuses),
  requested_by: uuid,
  requested_by_email: z.string(),
  requested_at: timestamp,
  expires_at: timestamp.meta({ description: 'When a request that nobody decided ends.' }),
  decided_by: uuid.nullable().meta({ description: 'Null where the platform decided, or nobody did.' }),
  decided_by_email: z.string(),
  decided_at: timestamp.nullable(),
  decision_reason: z.string(),
  grant_id: uuid.nullable(),
  can_decide: z.boolean().meta({ description: 'Whether you can approve and reject it now.' }),
});

const requestParams = tenantParams.extend({ request: uuid });

export const listGrantRequests = {
  params: tenantParams,
  query: pageQuery.extend({
    status: z.enum(grantRequestStatuses).optional(),
    connector_id: ref.optional(),
    view: z
      .enum(['all', 'mine', 'to_decide'])
      .default('all')
      .meta({ description: '`mine`: made by you. `to_decide`: pending, and you can decide.' }),
  }),
  answer: page(GrantRequest),
};

export const listRequestOptions = {
  params: tenantParams,
  answer: z.object({
    connectors: z.array(
      Connector.pick({
        id: true,
        slug: true,
        name: true,
        kind: true,
        description: true,
        max_duration_seconds: true,
        auto_approve: true,
      }),
    ),
    presets: z.array(Preset.pick({ id: true, name: true, actions: true, description: true })),
  }),
};

export const requestGrant = {
  params: tenantParams,
  body: z.strictObject({
    connector_id: ref,
    preset_id: ref,
    scope_resource_paths: scope.default([]),
    duration_seconds: z
      .int()
      .min(grantSecondsMin, 'must be at least 1 minute (60 seconds)')
      .max(grantSecondsMax, 'must be at most 365 days (31536000 seconds)'),
    reason: chars(1, reasonCharsMax),
  }),
  answer: GrantRequest,
};

/** The summary of a policy, for people who decide without being tenant admins. */
export const RequestPolicy = AccessPolicy.pick({
  id: true,
  name: true,
  description: true,
  resource_path: true,
  actions: true,
  row_filter: true,
  columns: true,
  masks: true,
  enforced: true,
}).extend({
  applies: z.boolean().meta({
    description: 'Whether it covers tables and actions of the request, so that the grant shows less with it.',
  }),
});

export const listRequestPolicies = { params: requestParams, query: pageQuery, answer: page(RequestPolicy) };

export const getGrantRequest = { params: requestParams, answer: GrantRequest };
export const approveGrantRequest = {
  params: requestParams,
  body: z
    .strictObject({
      reason: chars(0, reasonCharsMax).default(''),
      policy_ids: policyRefs
        .default([])
        .meta({ description: 'Policies that narrow the grant: of the connector, or of any connector.' }),
    })
    .optional(),
  answer: GrantRequest,
};
export const rejectGrantRequest = {
  params: requestParams,
  body: z.strictObject({ reason: chars(1, reasonCharsMax) }),
  answer: GrantRequest,
};
export const withdrawGrantRequest = { params: requestParams, answer: GrantRequest };
