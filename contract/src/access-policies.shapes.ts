import { z } from 'zod';
import {
  columnModes,
  maskKinds,
  policyColumnsMax,
  policyMasksMax,
  policyNameCharsMax,
  policyWarningCodes,
  rowFilterCharsMax,
} from './access-policies.ts';
import { policyRef, resourcePath } from './grants.shapes.ts';
import { actions } from './presets.shapes.ts';
import {
  chars,
  displayName,
  empty,
  page,
  pageQuery,
  ref,
  tenantParams,
  text,
  timestamp,
  uuid,
} from './shapes.ts';

const columnName = chars(1, 128);

const columns = z.strictObject({
  mode: z.enum(columnModes),
  names: z.array(columnName).max(policyColumnsMax).default([]),
});

/** A number that JSON readers would round is refused rather than changed. */
const exactNumber = z.number().refine((value) => Math.abs(value) <= Number.MAX_SAFE_INTEGER, {
  error: 'is too large to be stored exactly',
});

const mask = z.strictObject({
  column: columnName,
  kind: z.enum(maskKinds),
  args: z
    .record(chars(1, 64), z.union([text.max(1000), exactNumber, z.boolean()]))
    .refine((args) => Object.keys(args).length <= 16, { error: 'at most 16 arguments' })
    .default({}),
});

export const AccessPolicy = z.object({
  id: uuid,
  tenant_id: uuid,
  name: z.string(),
  description: z.string(),
  connector_id: z.string().meta({ description: 'Empty = independent of connector.' }),
  resource_path: z.string().meta({ description: 'Empty = whole connector.' }),
  actions: z.array(z.string()),
  row_filter: z.string().meta({ description: 'A filter as the row API spells it; empty = all rows.' }),
  columns: z.object({ mode: z.enum(columnModes), names: z.array(z.string()) }),
  masks: z.array(
    z.object({ column: z.string(), kind: z.enum(maskKinds), args: z.record(z.string(), z.unknown()) }),
  ),
  enabled: z.boolean(),
  enforced: z.boolean().meta({
    description: 'Narrows the access of everybody, not only of the grants that name it.',
  }),
  version: z.int(),
  created_by: z.string(),
  created_at: timestamp,
  updated_by: z.string(),
  updated_at: timestamp,
});

const fields = {
  name: displayName(1, policyNameCharsMax),
  description: chars(0, 1000),
  connector_id: ref.or(z.literal('')),
  resource_path: resourcePath.or(z.literal('')),
  actions,
  row_filter: chars(0, rowFilterCharsMax),
  columns,
  masks: z.array(mask).max(policyMasksMax),
  enabled: z.boolean(),
  enforced: z.boolean(),
};

const whole = z.strictObject({
  name: fields.name,
  description: fields.description.default(''),
  connector_id: fields.connector_id.default(''),
  resource_path: fields.resource_path.default(''),
  actions: fields.actions.default(['read']),
  row_filter: fields.row_filter.default(''),
  columns: fields.columns.default({ mode: 'all', names: [] }),
  masks: fields.masks.default([]),
  enabled: fields.enabled.default(true),
  enforced: fields.enforced.default(false),
});

const policyParams = tenantParams.extend({ policyID: policyRef });

export const listPolicies = {
  params: tenantParams,
  query: pageQuery.extend({ connector_id: ref.optional() }),
  answer: page(AccessPolicy),
};
export const PolicyWarning = z.object({
  policy_id: uuid,
  policy_name: z.string(),
  code: z.enum(policyWarningCodes),
  connector_slug: z.string().meta({ description: 'Of `does_not_fit`; otherwise empty.' }),
  path: z.string().meta({ description: '`schema/table`, of `does_not_fit`; otherwise empty.' }),
  text: z.string(),
});

export const listPolicyWarnings = {
  params: tenantParams,
  query: pageQuery.extend({
    connector: ref.optional().meta({ description: 'Only policies for this connector, by id or slug.' }),
    policy: policyRef.optional(),
  }),
  answer: page(PolicyWarning),
};
export const createPolicy = { params: tenantParams, body: whole, answer: AccessPolicy };
export const getPolicy = { params: policyParams, answer: AccessPolicy };
export const replacePolicy = { params: policyParams, body: whole, answer: AccessPolicy };
export const updatePolicy = {
  params: policyParams,
  body: z.strictObject(fields).partial(),
  answer: AccessPolicy,
};
export const deletePolicy = { params: policyParams, answer: empty };
