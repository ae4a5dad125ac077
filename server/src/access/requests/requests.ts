import type {
  listGrantRequests as listShape,
  requestGrant as requestShape,
} from '@svc/contract/grant-requests.shapes.ts';
import { grantRequestDaysMax, grantRequestsPendingMax } from '@svc/contract/grant-requests.ts';
import type { z } from 'zod';
import type { TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import { type PageQuery, pageWindow, paginate, toPage } from '../../core/paging.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { daysAfter } from '../../core/values.ts';
import { lockMemberForShare } from '../../people/tenants/members.ts';
import { canDecideFor } from '../connectors/access-settings.ts';
import { findConnectorRow, listConnectorRows, lockConnectorForShare } from '../connectors/connectors.ts';
import { listPoliciesForTarget, lockGrantPolicies } from '../grants/grant-policies.ts';
import { createGrant } from '../grants/grants.ts';
import { listPresetTerms, lockPresetForShare } from '../presets/presets.ts';
import { notifyApprovers, notifyRequester } from './notices.ts';
import {
  allows,
  auditEnd,
  auditTarget,
  durationText,
  type RequestRecord,
  reminderTime,
  requestRecord,
} from './rules.ts';
import {
  countPending,
  findRequestRow,
  insertRequestRow,
  listRequestRows,
  lockRequestRow,
  type Outcome,
  type RequestRow,
  saveOutcome,
} from './store.ts';

export async function listGrantRequests(ctx: TenantCtx, query: z.output<typeof listShape.query>) {
  const { caller, tenant } = ctx;
  const connector =
    query.connector_id === undefined
      ? undefined
      : await findConnectorRow(ctx.db, tenant.id, query.connector_id);
  if (query.connector_id !== undefined && !connector) return toPage(query, [], 0);
  const filter = {
    status: query.view === 'to_decide' ? ('pending' as const) : query.status,
    connectorId: connector?.id,
    requestedBy: query.view === 'mine' ? caller.userId : undefined,
    notRequestedBy: query.view === 'to_decide' ? caller.userId : undefined,
    visibleTo: tenant.role === 'tenant_admin' ? undefined : caller.userId,
  };
  const { rows, total } = await listRequestRows(ctx.db, tenant.id, filter, pageWindow(query));
  return toPage(
    query,
    rows.map((row) => toRecord(ctx, row)),
    total,
  );
}

const connectorsMax = 1_000;

/** Names only: members need them to request access, and see nothing behind them. */
export async function listRequestOptions(ctx: TenantCtx) {
  const { rows } = await listConnectorRows(ctx.db, ctx.tenant.id, { limit: connectorsMax, offset: 0 });
  return {
    connectors: rows.map(({ id, slug, name, kind, description, max_duration_seconds, auto_approve }) => ({
      id,
      slug,
      name,
      kind,
      description,
      max_duration_seconds,
      auto_approve,
    })),
    presets: await listPresetTerms(ctx.db, ctx.tenant.id),
  };
}

export async function getGrantRequest(
  ctx: TenantCtx,
  { request }: { request: string },
): Promise<RequestRecord> {
  return toRecord(ctx, requireVisible(ctx, await findRequestRow(ctx.db, ctx.tenant.id, request)));
}

export async function listRequestPolicies(
  ctx: TenantCtx,
  { request, ...query }: { request: string } & PageQuery,
) {
  const row = requireDecider(ctx, await findRequestRow(ctx.db, ctx.tenant.id, request));
  const found = await listPoliciesForTarget(ctx.db, ctx.tenant.id, grantTarget(row));
  return paginate(
    query,
    found.map(({ policy: { id, name, description, resource_path, actions, ...policy }, applies }) => ({
      id,
      name,
      description,
      resource_path,
      actions,
      row_filter: policy.row_filter,
      columns: policy.columns,
      masks: policy.masks,
      enforced: policy.enforced,
      applies,
    })),
  );
}

const grantTarget = (row: RequestRow) => ({
  connectorId: row.connector_id,
  presetId: row.preset_id,
  scope: row.scope_resource_paths,
});

export async function requestGrant(
  ctx: TenantMutationCtx,
  input: z.output<typeof requestShape.body>,
): Promise<RequestRecord> {
  const { userId } = ctx.caller;
  const tenantId = ctx.tenant.id;
  // A member who leaves at the same time has no pending request afterwards.
  orNotFound(await lockMemberForShare(ctx.db, tenantId, userId));
  const connectorId = await lockConnectorForShare(ctx.db, tenantId, input.connector_id);
  const connector = connectorId === null ? undefined : await findConnectorRow(ctx.db, tenantId, connectorId);
  if (!connector)
    throw validationError('connector_id', 'is not a connector of this tenant', 'unknown_connector');
  const presetId = await lockPresetForShare(ctx.db, tenantId, input.preset_id);
  if (!presetId) throw validationError('preset_id', 'is not a preset of this tenant', 'unknown_preset');
  requireAllowedDuration(connector, input.duration_seconds);
  const pending = await listRequestRows(
    ctx.db,
    tenantId,
    { status: 'pending', connectorId: connector.id, requestedBy: userId },
    { limit: grantRequestsPendingMax, offset: 0 },
  );
  const open = pending.rows.find((row) => row.preset_id === presetId);
  if (open)
    throw fail('grant_request_open', {
      detail: `Your request ${open.id} is pending: wait, or withdraw it first.`,
    });
  if ((await countPending(ctx.db, tenantId, userId)) >= grantRequestsPendingMax)
    throw fail('limit_reached', { detail: `You have ${grantRequestsPendingMax} pending requests.` });

  const id = ctx.newId();
  await insertRequestRow(ctx.db, {
    id,
    tenant_id: tenantId,
    connector_id: connector.id,
    preset_id: presetId,
    scope_resource_paths: input.scope_resource_paths,
    duration_seconds: input.duration_seconds,
    reason: input.reason,
    requested_by: userId,
    requested_at: ctx.now,
    expires_at: daysAfter(ctx.now, grantRequestDaysMax),
  });
  const row = orNotFound(await findRequestRow(ctx.db, tenantId, id));
  ctx.audit({
    action: 'grantRequests.create',
    target: auditTarget(row),
    before: null,
    after: {
      connector: row.connector_slug,
      preset_id: presetId,
      scope_resource_paths: input.scope_resource_paths,
      duration_seconds: input.duration_seconds,
      reason: input.reason,
    },
  });
  if (!connector.auto_approve) {
    await notifyApprovers(ctx, row);
    return toRecord(ctx, row);
  }
  const reason = `Approved by the settings of the connector: up to ${durationText(connector.max_duration_seconds)}.`;
  return approve(ctx, row, { decidedBy: null, reason, policyIds: [] });
}

function requireAllowedDuration(
  { max_duration_seconds: secondsMax, slug }: { max_duration_seconds: number; slug: string },
  seconds: number,
): void {
  if (secondsMax > 0 && seconds > secondsMax)
    throw fail('duration_exceeded', {
      detail: `${slug} allows access for at most ${durationText(secondsMax)}; the request is for ${durationText(seconds)}.`,
    });
}

export async function approveGrantRequest(
  ctx: TenantMutationCtx,
  { request, reason, policies }: { request: string; reason: string; policies: readonly string[] },
): Promise<RequestRecord> {
  const row = await lockToDecide(ctx, request, { move: 'approve', refusal: 'self_approval' });
  const connector = orNotFound(await findConnectorRow(ctx.db, ctx.tenant.id, row.connector_id));
  // The settings may have changed since the request.
  requireAllowedDuration(connector, row.duration_seconds);
  // Owners of a connector need not be admins: they learn nothing about the policies of other connectors.
  const policyIds = (await lockGrantPolicies(ctx, policies, connector)).map(({ id }) => id);
  return approve(ctx, row, { decidedBy: ctx.caller.userId, reason, policyIds });
}

export async function rejectGrantRequest(
  ctx: TenantMutationCtx,
  { request, reason }: { request: string; reason: string },
): Promise<RequestRecord> {
  const row = await lockToDecide(ctx, request, { move: 'reject', refusal: 'self_review' });
  const ended = await end(ctx, row, {
    status: 'rejected',
    decidedBy: ctx.caller.userId,
    reason,
    at: ctx.now,
  });
  await notifyRequester(ctx, { ...ended, status: 'rejected' });
  return toRecord(ctx, ended);
}

export async function withdrawGrantRequest(
  ctx: TenantMutationCtx,
  { request }: { request: string },
): Promise<RequestRecord> {
  const row = requireVisible(ctx, await lockRequestRow(ctx.db, ctx.tenant.id, request));
  if (row.requested_by !== ctx.caller.userId)
    throw fail('forbidden', { detail: 'Only the requester can withdraw a request.' });
  requireMove('withdraw', row);
  return toRecord(
    ctx,
    await end(ctx, row, { status: 'withdrawn', decidedBy: null, reason: '', at: ctx.now }),
  );
}

async function lockToDecide(
  ctx: TenantMutationCtx,
  id: string,
  { move, refusal }: { move: 'approve' | 'reject'; refusal: 'self_approval' | 'self_review' },
): Promise<RequestRow> {
  const row = requireDecider(ctx, await lockRequestRow(ctx.db, ctx.tenant.id, id));
  if (row.requested_by === ctx.caller.userId) throw fail(refusal);
  requireMove(move, row);
  return row;
}

function requireDecider(ctx: TenantCtx, found: RequestRow | undefined): RequestRow {
  const row = requireVisible(ctx, found);
  if (!canDecideFor(ctx, { owners: row.connector_owners }))
    throw fail('forbidden', { detail: 'Owners of the connector and tenant admins decide requests.' });
  return row;
}

function requireMove(move: Parameters<typeof allows>[0], { status }: RequestRow): void {
  if (!allows(move, status)) throw fail('settled', { detail: `The request is ${status}.` });
}

async function approve(
  ctx: TenantMutationCtx,
  row: RequestRow,
  { decidedBy, reason, policyIds }: { decidedBy: string | null; reason: string; policyIds: string[] },
): Promise<RequestRecord> {
  auditEnd(ctx, row, { status: 'approved', reason });
  const grant = await createGrant(ctx, {
    subject_id: row.requested_by,
    subject_kind: 'user',
    connector_id: row.connector_id,
    preset_id: row.preset_id,
    policy_ids: policyIds,
    scope_resource_paths: row.scope_resource_paths,
    reason: row.reason,
    source: 'request',
    expires_at: '',
    duration_seconds: row.duration_seconds,
    isAutomatic: decidedBy === null,
  });
  await saveOutcome(ctx.db, row.id, {
    status: 'approved',
    decidedBy,
    reason,
    at: ctx.now,
    grantId: grant.id,
    remindAt: reminderTime(ctx.now, row.duration_seconds),
  });
  const ended = orNotFound(await findRequestRow(ctx.db, row.tenant_id, row.id));
  if (decidedBy !== null) await notifyRequester(ctx, { ...ended, status: 'approved' });
  return toRecord(ctx, ended);
}

async function end(ctx: TenantMutationCtx, row: RequestRow, outcome: Outcome): Promise<RequestRow> {
  auditEnd(ctx, row, outcome);
  await saveOutcome(ctx.db, row.id, outcome);
  return orNotFound(await findRequestRow(ctx.db, row.tenant_id, row.id));
}

/** A member who neither made the request nor can decide it does not see it. */
function requireVisible(ctx: TenantCtx, row: RequestRow | undefined): RequestRow {
  if (!row) throw fail('not_found');
  if (row.requested_by !== ctx.caller.userId && !canDecideFor(ctx, { owners: row.connector_owners }))
    throw fail('not_found');
  return row;
}

function toRecord(ctx: TenantCtx, row: RequestRow): RequestRecord {
  const canDecide =
    row.requested_by !== ctx.caller.userId &&
    allows('approve', row.status) &&
    canDecideFor(ctx, { owners: row.connector_owners });
  return requestRecord(row, { canDecide });
}
