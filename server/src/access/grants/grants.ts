import type {
  checkAccess as checkAccessShape,
  createGrant as createGrantShape,
  listGrants as shape,
} from '@svc/contract/grants.shapes.ts';
import type { z } from 'zod';
import type { TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { governanceTag } from '../../core/tags.ts';
import { isDeepEqual, isUuid } from '../../core/values.ts';
import { findGroup, findGroups, lockGroupForShare } from '../../people/groups/groups.ts';
import { describeMembers, findMember, lockMemberForShare } from '../../people/tenants/members.ts';
import {
  describeConnectors,
  findConnectorId,
  listKnownTables,
  lockConnectorForShare,
} from '../connectors/connectors.ts';
import { findPolicyId, loadPolicyFacts } from '../policies/policies.ts';
import { actionsByPreset, describePresets, lockPresetForShare } from '../presets/presets.ts';
import { lockGrantPolicies, warnOfPolicies } from './grant-policies.ts';
import { canReplaceScope, decideAccess, isInScope } from './rules.ts';
import {
  findGrantRow,
  findProgram,
  type GrantRow,
  grantRecord,
  insertGrantRow,
  listActiveGrantRows,
  listGrantRows,
  listSubjectGrantRows,
  lockAppForShare,
  lockGrantRow,
  lockServiceAccountForShare,
  type Subject,
  updateGrantRow,
} from './store.ts';

export async function listGrants(ctx: TenantCtx, query: z.output<typeof shape.query>) {
  const subjectId = query.subject_id && (await resolveSubject(ctx, query.subject_id));
  const connectorId = query.connector_id && (await resolveConnector(ctx, query.connector_id));
  const policyId = query.policy_id && (await resolvePolicy(ctx, query.policy_id));
  if (subjectId === null || connectorId === null || policyId === null) return toPage(query, [], 0);
  const filter = { status: query.status, subjectId, connectorId, policyId };
  const { rows, total } = await listGrantRows(ctx.db, ctx.tenant.id, filter, pageWindow(query));
  return toPage(query, rows.map(grantRecord), total);
}

async function resolveSubject(ctx: TenantCtx, ref: string): Promise<string | null> {
  if (isUuid(ref)) return ref.toLowerCase();
  if (!ref.includes('@')) return (await findGroup(ctx.db, ctx.tenant.id, ref))?.id ?? null;
  return (await findMember(ctx.db, ctx.tenant.id, ref))?.userId ?? null;
}

async function resolveConnector(ctx: TenantCtx, ref: string): Promise<string | null> {
  return isUuid(ref) ? ref : findConnectorId(ctx.db, ctx.tenant.id, ref);
}

async function resolvePolicy(ctx: TenantCtx, ref: string): Promise<string | null> {
  return isUuid(ref) ? ref.toLowerCase() : findPolicyId(ctx.db, ctx.tenant.id, ref);
}

export async function listMyGrants(ctx: TenantCtx) {
  return (await listActiveGrantRows(ctx.db, ctx.tenant.id, ctx.caller.userId)).map(grantRecord);
}

export async function getMyGrantTerms(ctx: TenantCtx) {
  const rows = await listActiveGrantRows(ctx.db, ctx.tenant.id, ctx.caller.userId);
  const ids = (column: 'connector_id' | 'preset_id' | 'granted_by') => [
    ...new Set(rows.map((row) => row[column])),
  ];
  const known = await listKnownTables(ctx.db, ctx.tenant.id, ids('connector_id'));
  return {
    people: await describeMembers(ctx.db, ctx.tenant.id, ids('granted_by')),
    tables: known.filter(({ connector_id, path }) =>
      rows.some((row) => row.connector_id === connector_id && isInScope(row.scope_resource_paths, path)),
    ),
    connectors: await describeConnectors(ctx.db, ctx.tenant.id, ids('connector_id')),
    presets: await describePresets(ctx.db, ctx.tenant.id, ids('preset_id')),
    groups: (await findGroups(ctx.db, ctx.tenant.id, groupIdsOf(rows))).map(({ id, name, display_name }) => ({
      id,
      name,
      display_name,
    })),
  };
}

const groupIdsOf = (rows: readonly GrantRow[]) => [
  ...new Set(rows.flatMap((row) => (row.subject_kind === 'group' ? [row.subject_id] : []))),
];

export async function getGrant(ctx: TenantCtx, input: { grantId: string }) {
  return grantRecord(orNotFound(await findGrantRow(ctx.db, ctx.tenant.id, input.grantId)));
}

/** `duration_seconds` counts from now and replaces `expires_at`. */
type NewGrant = z.output<typeof createGrantShape.body> & { duration_seconds?: number; isAutomatic?: boolean };

export async function createGrant(ctx: TenantMutationCtx, input: NewGrant) {
  const expiresAt =
    input.duration_seconds === undefined
      ? parseExpiry(input.expires_at, ctx.now)
      : new Date(ctx.now.getTime() + input.duration_seconds * 1000);
  const subject = await lockSubject(ctx, input);
  // Share locks: what the grant references cannot be deleted before the transaction ends.
  const connectorId = await lockConnectorForShare(ctx.db, ctx.tenant.id, input.connector_id);
  if (!connectorId)
    throw validationError('connector_id', 'is not a connector of this tenant', 'unknown_connector');
  const presetId = await lockPresetForShare(ctx.db, ctx.tenant.id, input.preset_id);
  if (!presetId) throw validationError('preset_id', 'is not a preset of this tenant', 'unknown_preset');
  const policies = await lockGrantPolicies(ctx, input.policy_ids);

  const row: GrantRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    subject_id: subject.id,
    subject_kind: input.subject_kind,
    connector_id: connectorId,
    preset_id: presetId,
    policy_ids: policies.map(({ id }) => id),
    scope_resource_paths: input.scope_resource_paths,
    status: 'active',
    reason: input.reason,
    source: input.source,
    granted_by: ctx.caller.userId,
    granted_at: ctx.now,
    expires_at: expiresAt,
    revoked_by: '',
    revoked_at: null,
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  await insertGrantRow(ctx.db, row);
  ctx.invalidate(governanceTag(ctx.tenant.id));
  ctx.audit({
    action: 'grants.create',
    target: { kind: 'grant', id: row.id, name: subject.name },
    before: null,
    after: {
      subject_id: row.subject_id,
      subject_kind: row.subject_kind,
      connector_id: row.connector_id,
      preset_id: row.preset_id,
      policy_ids: row.policy_ids,
      scope_resource_paths: row.scope_resource_paths,
      reason: row.reason,
      source: row.source,
      // A time that counts from the execution would make each plan another one.
      ...(input.duration_seconds === undefined
        ? { expires_at: row.expires_at?.toISOString() ?? '' }
        : { duration_seconds: input.duration_seconds }),
    },
  });
  if (row.scope_resource_paths.length === 0)
    ctx.warn('The grant has no scope: it covers the whole connector.');
  // Settings of a connector grant access to people who must not learn its policies.
  if (!input.isAutomatic)
    await warnOfPolicies(ctx, { connectorId, presetId, scope: row.scope_resource_paths }, policies);
  return grantRecord(row);
}

const subjectNouns = { app: 'an app', service_account: 'a service account (an id, or app/name)' };

async function lockSubject(
  ctx: TenantMutationCtx,
  { subject_kind, subject_id }: Pick<z.output<typeof createGrantShape.body>, 'subject_kind' | 'subject_id'>,
): Promise<{ id: string; name: string }> {
  if (subject_kind === 'group') {
    const group = await lockGroupForShare(ctx.db, ctx.tenant.id, subject_id);
    if (!group) throw validationError('subject_id', 'is not a group of this tenant', 'unknown_subject');
    return group;
  }
  if (subject_kind === 'app' || subject_kind === 'service_account') {
    const lock = subject_kind === 'app' ? lockAppForShare : lockServiceAccountForShare;
    const subject = await lock(ctx.db, ctx.tenant.id, subject_id);
    if (!subject)
      throw validationError(
        'subject_id',
        `is not ${subjectNouns[subject_kind]} of this tenant`,
        'unknown_subject',
      );
    return subject;
  }
  const member = await lockMemberForShare(ctx.db, ctx.tenant.id, subject_id);
  if (!member || member.status === 'deactivated')
    throw validationError('subject_id', 'is not a member of this tenant', 'unknown_subject');
  return { id: member.userId, name: member.email };
}

function parseExpiry(text: string, now: Date): Date | null {
  if (text === '') return null;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw validationError('expires_at', 'is not a valid time');
  if (at <= now) throw validationError('expires_at', 'must be in the future');
  return at;
}

export async function replaceGrantScope(ctx: TenantMutationCtx, input: { grantId: string; scope: string[] }) {
  const row = orNotFound(await lockGrantRow(ctx.db, ctx.tenant.id, input.grantId));
  if (!canReplaceScope(row.status)) throw fail('grant_not_active', { detail: `The grant is ${row.status}.` });
  ctx.audit({
    action: 'grants.replaceScope',
    target: { kind: 'grant', id: row.id, name: row.subject_id },
    before: { scope_resource_paths: row.scope_resource_paths },
    after: { scope_resource_paths: input.scope },
  });
  if (input.scope.length === 0) ctx.warn('An empty scope covers the whole connector.');
  if (isDeepEqual(row.scope_resource_paths, input.scope)) return grantRecord(row);
  const set = { scope_resource_paths: input.scope, updated_at: ctx.now };
  await updateGrantRow(ctx.db, row.id, set);
  ctx.invalidate(governanceTag(ctx.tenant.id));
  return grantRecord({ ...row, ...set });
}

/** Checked before any lookup: whether another subject or connector exists must not be revealed. */
export function requireAdminOrSelf(
  ctx: TenantCtx,
  { subject_id, subject_kind }: { subject_id: string; subject_kind: string },
): void {
  const isAdmin = ctx.tenant.role === 'tenant_admin';
  const isSelf =
    subject_kind === 'user' &&
    [ctx.caller.userId, ctx.caller.email.toLowerCase()].includes(subject_id.toLowerCase());
  if (!isAdmin && !isSelf) throw fail('forbidden', { detail: 'Only admins can check the access of others.' });
}

export async function checkAccess(ctx: TenantCtx, input: z.output<typeof checkAccessShape.body>) {
  requireAdminOrSelf(ctx, input);
  const none = { allowed: false, grant_ids: [], policy_ids: [], group_ids: [] };
  const subject = await findSubject(ctx, input);
  const connectorId = await findConnectorId(ctx.db, ctx.tenant.id, input.connector_id);
  if (!subject || !connectorId) return { ...none, reason: 'no_active_grant' as const };
  const isRead = input.action === 'read' || input.action === 'export';
  if (!(isRead ? subject.canRead : subject.canWrite))
    return { ...none, reason: 'subject_not_active' as const };
  const rows = await subject.grants();
  const grants = await grantFacts(ctx.db, ctx.tenant.id, rows);
  const policies = await loadPolicyFacts(ctx.db, ctx.tenant.id, [
    ...new Set(rows.flatMap((row) => row.policy_ids)),
  ]);
  const request = { connectorId, action: input.action, resourcePath: input.resource_path };
  const decision = decideAccess(request, grants, policies);
  const deciding = rows.filter(({ id }) => decision.grant_ids.includes(id));
  return { ...decision, group_ids: groupIdsOf(deciding) };
}

/** Inactive subjects have no access, whatever was granted. Null if there is no such subject. */
async function findSubject(
  { db, tenant }: TenantCtx,
  { subject_id, subject_kind: kind }: z.output<typeof checkAccessShape.body>,
): Promise<{ canRead: boolean; canWrite: boolean; grants: () => Promise<GrantRow[]> } | null> {
  if (kind === 'user') {
    const member = await findMember(db, tenant.id, subject_id);
    const isActive = member?.status === 'active';
    return (
      member && {
        canRead: isActive,
        canWrite: isActive,
        grants: () => listActiveGrantRows(db, tenant.id, member.userId),
      }
    );
  }
  const subject = await findProgram(db, tenant.id, { kind, ref: subject_id });
  if (!subject) return null;
  return {
    // The tokens of service accounts still read while their app is suspended.
    canRead: subject.is_app_active || kind === 'service_account',
    canWrite: subject.is_app_active,
    grants: () => listSubjectGrantRows(db, tenant.id, { kind, id: subject.id }),
  };
}

async function grantFacts(db: Db, tenantId: string, rows: readonly GrantRow[]) {
  const actions = await actionsByPreset(db, tenantId);
  return rows.map((row) => ({
    id: row.id,
    connectorId: row.connector_id,
    actions: actions.get(row.preset_id) ?? [],
    scope: row.scope_resource_paths,
    policyIds: row.policy_ids,
    expiresAt: row.expires_at,
    presetId: row.preset_id,
    groupId: row.subject_kind === 'group' ? row.subject_id : null,
  }));
}

export { listGrantRowsNaming, listUsedPolicyIds } from './store.ts';

export async function loadActiveGrants(db: Db, tenantId: string, userId: string) {
  return grantFacts(db, tenantId, await listActiveGrantRows(db, tenantId, userId));
}

export async function loadActiveGrantsOf(db: Db, tenantId: string, subject: Subject) {
  return grantFacts(db, tenantId, await listSubjectGrantRows(db, tenantId, subject));
}

export async function findEndedGrant(
  db: Db,
  tenantId: string,
  { userId, connectorId }: { userId: string; connectorId: string },
): Promise<{ status: string; at: Date | null } | null> {
  const window = { limit: 20, offset: 0 };
  const { rows } = await listGrantRows(db, tenantId, { subjectId: userId, connectorId }, window);
  const ended = rows.find(({ status }) => status !== 'active');
  return ended ? { status: ended.status, at: ended.revoked_at ?? ended.expires_at } : null;
}

export async function addPolicyToGrants(
  tx: Tx,
  tenantId: string,
  { userId, policyId }: { userId: string; policyId: string },
): Promise<void> {
  for (const { id, policy_ids } of await listActiveGrantRows(tx, tenantId, userId))
    await updateGrantRow(tx, id, { policy_ids: [...policy_ids, policyId] });
}

export async function listGrantFacts(
  db: Db,
  tenantId: string,
  filter: { policyId?: string; connectorId?: string },
  limit: number,
) {
  const { rows } = await listGrantRows(db, tenantId, { status: 'active', ...filter }, { limit, offset: 0 });
  const facts = await grantFacts(db, tenantId, rows);
  const nameOf = await subjectNames(db, tenantId, rows);
  return rows.flatMap((row, at) => {
    const grant = facts[at];
    const subject = { kind: row.subject_kind, id: row.subject_id, name: nameOf(row) };
    return grant ? [{ grant, subject }] : [];
  });
}

async function subjectNames(db: Db, tenantId: string, rows: readonly GrantRow[]) {
  const people = await describeMembers(
    db,
    tenantId,
    rows.map((row) => row.subject_id),
  );
  const groups = await findGroups(db, tenantId, groupIdsOf(rows));
  const names = new Map([
    ...people.map(({ id, email }) => [id, email] as const),
    ...groups.map(({ id, name }) => [id, name] as const),
  ]);
  return ({ subject_id }: GrantRow) => names.get(subject_id) ?? subject_id;
}
