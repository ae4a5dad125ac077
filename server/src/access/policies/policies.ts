import type {
  createPolicy as createPolicyShape,
  listPolicies as shape,
  updatePolicy as updatePolicyShape,
} from '@svc/contract/access-policies.shapes.ts';
import { FilterError, parseRowFilter } from '@svc/contract/filter.ts';
import { placeholderProblem } from '@svc/contract/placeholders.ts';
import type { z } from 'zod';
import type { TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { governanceTag } from '../../core/tags.ts';
import { isDeepEqual, isUuid } from '../../core/values.ts';
import { matchesIfMatch, versionEtag } from '../../http/headers.ts';
import { type PolicyRow, publishAccessEvent } from '../access-events.ts';
import { findConnectorId, lockConnectorForShare } from '../connectors/connectors.ts';
import { refuseWhileGranted } from '../usage.ts';
import {
  auditedFields,
  duplicates,
  hiddenMaskColumns,
  maskArgsProblem,
  noPolicyEffects,
  type PolicyEffects,
  unknownArgsProblem,
} from './rules.ts';
import {
  deletePolicyRow,
  findPolicyRow,
  findPolicyRowByName,
  findPolicyRows,
  insertPolicyRow,
  listPolicyRows,
  lockPolicyRow,
  lockPolicyRowsForShare,
  type PolicyFields,
  policyRecord,
  updatePolicyRow,
} from './store.ts';

const auditTarget = ({ id, name }: PolicyRow) => ({ kind: 'policy', id, name });

export async function listPolicies(ctx: TenantCtx, query: z.output<typeof shape.query>) {
  const ref = query.connector_id;
  const connectorId = ref === undefined ? undefined : await findConnectorId(ctx.db, ctx.tenant.id, ref);
  if (connectorId === null) return toPage(query, [], 0);
  const { rows, total } = await listPolicyRows(ctx.db, ctx.tenant.id, { connectorId }, pageWindow(query));
  return toPage(query, rows.map(policyRecord), total);
}

export async function getPolicy(ctx: TenantCtx, input: { policyId: string }) {
  return policyRecord(orNotFound(await findPolicyRow(ctx.db, ctx.tenant.id, input.policyId)));
}

export async function createPolicy(
  ctx: TenantMutationCtx,
  input: z.output<typeof createPolicyShape.body>,
  effects: PolicyEffects = noPolicyEffects(),
) {
  const fields = { ...input, connector_id: await resolveConnector(ctx, input.connector_id) };
  await checkPolicy(ctx, fields, null);
  const row: PolicyRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    ...fields,
    version: 1,
    created_by: ctx.caller.userId,
    created_at: ctx.now,
    updated_by: ctx.caller.userId,
    updated_at: ctx.now,
  };
  await publishAccessEvent(ctx, 'policySaved', { policy: row, before: null });
  await insertPolicyRow(ctx.db, row);
  ctx.invalidate(governanceTag(ctx.tenant.id));
  ctx.audit({ action: 'policies.create', target: auditTarget(row), before: null, after: auditedFields(row) });
  ctx.foresee(() => effects.load(ctx, { before: null, after: row }));
  return policyRecord(row);
}

export async function updatePolicy(
  ctx: TenantMutationCtx,
  input: { policyId: string; set: z.output<typeof updatePolicyShape.body>; ifMatch: string | undefined },
  effects: PolicyEffects = noPolicyEffects(),
) {
  const row = await lockPolicy(ctx, input);
  const { connector_id: connector, ...rest } = input.set;
  const fields: PolicyFields = {
    ...row,
    ...rest,
    connector_id: connector === undefined ? row.connector_id : await resolveConnector(ctx, connector),
  };
  await checkPolicy(ctx, fields, row);
  const [before, after] = [auditedFields(row), auditedFields(fields)];
  ctx.audit({ action: 'policies.update', target: auditTarget(row), before, after });
  if (isDeepEqual(before, after)) return policyRecord(row);
  const next = {
    ...row,
    ...fields,
    version: row.version + 1,
    updated_by: ctx.caller.userId,
    updated_at: ctx.now,
  };
  await publishAccessEvent(ctx, 'policySaved', { policy: next, before: row });
  await updatePolicyRow(ctx.db, next);
  ctx.invalidate(governanceTag(ctx.tenant.id));
  ctx.foresee(() => effects.load(ctx, { before: row, after: next }));
  return policyRecord(next);
}

export async function deletePolicy(
  ctx: TenantMutationCtx,
  input: { policyId: string; ifMatch: string | undefined },
  effects: PolicyEffects = noPolicyEffects(),
): Promise<undefined> {
  // The lock waits for grants that are being created with the policy, so that the check below sees them.
  const row = await lockPolicy(ctx, input);
  await refuseWhileGranted(ctx, 'policy', row.id);
  await deletePolicyRow(ctx.db, row.id);
  ctx.invalidate(governanceTag(ctx.tenant.id));
  ctx.audit({ action: 'policies.delete', target: auditTarget(row), before: auditedFields(row), after: null });
  ctx.foresee(() => effects.load(ctx, { before: row, after: null }));
}

async function lockPolicy(ctx: TenantMutationCtx, input: { policyId: string; ifMatch: string | undefined }) {
  const row = orNotFound(await lockPolicyRow(ctx.db, ctx.tenant.id, input.policyId));
  if (!matchesIfMatch(input.ifMatch, versionEtag(row))) throw fail('precondition_failed');
  return row;
}

type PolicyCtx = Pick<TenantMutationCtx, 'db' | 'tenant'>;

/** Stores a policy in a transaction that is rolled back: one with a known id or name is changed, others are new. */
export async function tryPolicy(
  ctx: PolicyCtx & Pick<TenantMutationCtx, 'caller' | 'now'>,
  { id, ...input }: z.output<typeof updatePolicyShape.body> & { id?: string | undefined },
): Promise<{ row: PolicyRow; isNew: boolean }> {
  const { db, tenant, now, caller } = ctx;
  const before =
    id === undefined
      ? await findPolicyRowByName(db, tenant.id, input.name ?? '')
      : orNotFound(await findPolicyRow(db, tenant.id, id));
  const { connector_id: connector, ...rest } = input;
  const set = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const user = caller.userId;
  const row: PolicyRow = {
    ...(before ?? {
      ...newPolicyFields,
      id: Bun.randomUUIDv7(),
      tenant_id: tenant.id,
      version: 1,
      created_by: user,
      created_at: now,
      updated_by: user,
      updated_at: now,
    }),
    ...set,
  };
  if (connector !== undefined) row.connector_id = await resolveConnector(ctx, connector);
  await checkPolicy(ctx, row, before ?? null);
  await (before ? updatePolicyRow : insertPolicyRow)(db, row);
  return { row, isNew: before === undefined };
}

const newPolicyFields: PolicyFields = {
  name: 'the policy that is tried',
  description: '',
  connector_id: null,
  resource_path: '',
  actions: ['read'],
  row_filter: '',
  columns: { mode: 'all', names: [] },
  masks: [],
  enabled: true,
  enforced: false,
};

async function checkPolicy(ctx: PolicyCtx, fields: PolicyFields, before: PolicyFields | null): Promise<void> {
  // An unchanged filter is not checked again, so that a policy with an invalid one can still be disabled.
  if (fields.row_filter !== before?.row_filter) checkRowFilter(fields.row_filter);
  const masks = fields.masks.map((mask) => mask.column);
  for (const [field, problem, columns] of [
    ['columns', 'duplicate', duplicates(fields.columns.names)],
    ['masks', 'hidden by `columns`', hiddenMaskColumns(fields)],
    ['masks', 'duplicate', duplicates(masks)],
  ] as const)
    if (columns.length > 0) throw validationError(field, `${problem}: ${columns.join(', ')}`);
  for (const mask of fields.masks) {
    const isStored = before?.masks.some((each) => isDeepEqual(each, mask));
    const problem = maskArgsProblem(mask) ?? (isStored ? null : unknownArgsProblem(mask));
    if (problem) throw validationError('masks', `${mask.column}: ${problem}`);
  }
  if (fields.name !== before?.name && (await findPolicyRowByName(ctx.db, ctx.tenant.id, fields.name)))
    throw fail('unique_violation', { detail: `A policy named ${fields.name} already exists.` });
}

function checkRowFilter(text: string): void {
  try {
    const problem = placeholderProblem(parseRowFilter(text));
    if (problem) throw validationError('row_filter', problem, 'unknown_placeholder');
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    throw validationError('row_filter', `is invalid at ${JSON.stringify(error.field)}: ${error.detail}`);
  }
}

async function resolveConnector(ctx: PolicyCtx, ref: string): Promise<string | null> {
  if (ref === '') return null;
  const id = await lockConnectorForShare(ctx.db, ctx.tenant.id, ref);
  if (!id) throw validationError('connector_id', 'is not a connector of this tenant', 'unknown_connector');
  return id;
}

/** By id or name, in the order of `refs`. What is found cannot be deleted before the transaction ends. */
export async function lockPoliciesForShare(
  tx: Tx,
  tenantId: string,
  refs: readonly string[],
): Promise<(PolicyRow | undefined)[]> {
  const rows = await lockPolicyRowsForShare(tx, tenantId, refs);
  return refs.map((ref) => {
    const id = isUuid(ref) && ref.toLowerCase();
    return rows.find((row) => (id ? row.id === id : row.name === ref));
  });
}

export async function findPolicyId(db: Db, tenantId: string, ref: string): Promise<string | null> {
  return (await findPolicyRow(db, tenantId, ref))?.id ?? null;
}

export async function loadPolicyFacts(db: Db, tenantId: string, ids: readonly string[]) {
  return (await findPolicyRows(db, tenantId, ids)).map((row) => ({
    id: row.id,
    connectorId: row.connector_id,
    resourcePath: row.resource_path,
    actions: row.actions,
    enabled: row.enabled,
  }));
}

export type { PolicyRow } from '../access-events.ts';
export {
  findPolicyRows as loadPolicies,
  listEnabledPolicyRows as loadEnabledPolicies,
  listEnforcedPolicyRows as loadEnforcedPolicies,
  listPolicyRowsOf as loadPoliciesOf,
} from './store.ts';
