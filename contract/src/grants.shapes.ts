import { z } from 'zod';
import { storedType } from './columns.shapes.ts';
import { Connector } from './connectors.shapes.ts';
import { dataActions } from './data-scopes.ts';
import {
  accessReasons,
  grantSources,
  grantStatuses,
  policiesPerGrantMax,
  reasonCharsMax,
  resourcePathPattern,
  scopeEntriesMax,
  subjectKinds,
} from './grants.ts';
import { Group } from './groups.shapes.ts';
import { Preset } from './presets.shapes.ts';
import {
  chars,
  instantOrNone,
  page,
  pageQuery,
  ref,
  tenantParams,
  text,
  timestamp,
  unchanged,
  uuid,
} from './shapes.ts';

/** The 18 fields in the order of the spec; every one a string or an array of strings, unset ones empty. */
export const Grant = z.object({
  id: z.string(),
  tenant_id: z.string(),
  subject_id: z.string(),
  subject_kind: z.enum(subjectKinds),
  connector_id: z.string(),
  preset_id: z.string(),
  policy_ids: z.array(z.string()),
  scope_resource_paths: z.array(z.string()),
  status: z.enum(grantStatuses),
  reason: z.string(),
  source: z.enum(grantSources),
  granted_by: z.string(),
  granted_at: z.string(),
  expires_at: z.string(),
  revoked_by: z.string(),
  revoked_at: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
});

export const resourcePath = text.regex(resourcePathPattern, 'must be `schema` or `schema/table`');

/** The limit counts entries after duplicates are removed. */
export const scope = z
  .array(resourcePath)
  .max(100_000)
  .transform((list) => [...new Set(list)])
  .refine((list) => list.length <= scopeEntriesMax, {
    error: `must have at most ${scopeEntriesMax} entries`,
    params: { code: 'too_big' },
  });

export const policyRef = ref.meta({ description: 'A policy, by id (UUID) or name.' });

export const policyRefs = z
  .array(policyRef)
  .max(policiesPerGrantMax)
  .transform((list) => [...new Set(list)]);

const grantParams = tenantParams.extend({ grantID: uuid });

export const listMyGrants = { params: tenantParams, answer: z.array(Grant) };

export const getMyGrantTerms = {
  params: tenantParams,
  answer: z.object({
    connectors: z.array(Connector.pick({ id: true, slug: true, name: true, kind: true, description: true })),
    presets: z.array(Preset.pick({ id: true, name: true, actions: true, description: true })),
    groups: z
      .array(Group.pick({ id: true, name: true, display_name: true }))
      .meta({ description: 'Groups that you have grants through.' }),
    people: z
      .array(z.object({ id: z.string(), name: z.string(), email: z.string() }))
      .meta({ description: 'Members who granted.' }),
    tables: z
      .array(z.object({ connector_id: uuid, path: z.string() }))
      .meta({ description: 'Accessible tables, for connectors whose tables are known.' }),
  }),
};

export const GrantedTable = z.object({
  connector_id: uuid,
  connector_slug: z.string(),
  connector_name: z.string(),
  path: z.string().meta({ description: '`schema/table`.' }),
  actions: z.array(z.enum(dataActions)).meta({ description: 'What you may do with its rows.' }),
  columns: z
    .array(
      z.object({
        name: z.string(),
        type: storedType,
        mask: z.string().nullable().meta({ description: 'The kind of the mask; null: values in the clear.' }),
      }),
    )
    .meta({ description: 'The columns that you can read.' }),
  masked_columns: z.array(z.string()),
  expires_at: timestamp.nullable().meta({ description: 'When the last of the grants ends; null: never.' }),
  grants: z.array(
    z.object({
      id: uuid,
      preset_name: z.string(),
      group_name: z.string().meta({ description: 'The group that has the grant; empty: you have it.' }),
      expires_at: timestamp.nullable(),
      masked_columns: z.array(z.string()).meta({ description: 'Masked by this grant alone.' }),
    }),
  ),
  problem: z
    .string()
    .nullable()
    .meta({ description: 'Why the table cannot be read, such as a policy that does not fit it any more.' }),
});

export const listMyTables = {
  params: tenantParams,
  query: pageQuery.extend({
    connector: ref.optional().meta({ description: 'Only tables of this connector, by id or slug.' }),
    path: resourcePath.optional().meta({ description: 'Only this table, or the tables of this schema.' }),
  }),
  answer: page(GrantedTable),
};

export const listGrants = {
  params: tenantParams,
  query: pageQuery.extend({
    status: z.enum(grantStatuses).optional(),
    subject_id: ref.optional(),
    connector_id: ref.optional(),
    policy_id: policyRef.optional(),
  }),
  answer: page(Grant),
};

export const createGrant = {
  params: tenantParams,
  body: z.strictObject({
    subject_id: ref.meta({
      description:
        'The id or the e-mail address of a member of the tenant; the id or the name of a group; the id or the slug of an app; the id of a service account, or `app/name`.',
    }),
    subject_kind: z.enum(subjectKinds).default('user'),
    connector_id: ref,
    preset_id: ref,
    policy_ids: policyRefs.default([]),
    scope_resource_paths: scope.default([]),
    reason: chars(0, reasonCharsMax).default(''),
    source: z.enum(grantSources).default('manual'),
    expires_at: instantOrNone.default(''),
  }),
  answer: Grant,
};

export const getGrant = { params: grantParams, answer: Grant };

export const replaceGrantScope = {
  params: grantParams,
  body: z.union([
    scope,
    z.strictObject({ scope_resource_paths: scope }).transform((body) => body.scope_resource_paths),
  ]),
  answer: Grant,
};

export const revokeGrant = {
  params: grantParams,
  body: z.strictObject({ reason: chars(0, reasonCharsMax).default('') }).optional(),
  answer: Grant.extend({ changed: unchanged }),
};

export const AccessDecision = z.object({
  allowed: z.boolean(),
  grant_ids: z.array(z.string()),
  policy_ids: z.array(z.string()),
  group_ids: z.array(z.string()).meta({ description: 'Groups that have the grants.' }),
  reason: z.enum(accessReasons),
});

export const checkAccess = {
  params: tenantParams,
  body: z.strictObject({
    subject_id: ref,
    subject_kind: z.enum(subjectKinds).exclude(['group']).default('user'),
    connector_id: ref,
    action: chars(1, 64),
    resource_path: resourcePath.or(z.literal('')).default(''),
  }),
  answer: AccessDecision,
};
