import type { requestPublication as shape } from '@svc/contract/review.shapes.ts';
import { publicationDaysMax } from '@svc/contract/review.ts';
import type { z } from 'zod';
import { type LockedApp, lockAppFor } from '../../apps/record/app-access.ts';
import { findAppOfTenant, lockApp } from '../../apps/record/find-app.ts';
import {
  approveDataScopes,
  markReviewed,
  resetReviewStatus,
  widenApp,
} from '../../apps/record/status-store.ts';
import {
  type AppMutationCtx,
  type MutationCtx,
  ownsApp,
  type TenantMutationCtx,
} from '../../core/context.ts';
import { fail } from '../../core/problem.ts';
import { daysAfter, isDeepEqual } from '../../core/values.ts';
import { authorizeApprover, findMember } from '../../people/tenants/members.ts';
import { startReviewedDeployment } from '../deployments/reviews.ts';
import { approveByPolicy, findInvitePolicy, needsApproval, publishPinned } from './invite-policy.ts';
import { notifyOwners, notifyRequested } from './notifications.ts';
import {
  closePublicationRow,
  findOpenPublicationRow,
  findPublicationRow,
  insertPublicationRow,
  type PublicationRow,
  publicationRecord,
} from './publications.ts';
import { endOverdueRequest, endRequest, endWaitingDeployment, findDeployed } from './requests.ts';
import {
  canSeeRequest,
  currentStatus,
  type Deployed,
  hasNewScopes,
  isOver,
  isSamePin,
  isStillDeployed,
  newScopes,
  type Pin,
  pinFor,
} from './rules.ts';

type Input = z.output<typeof shape.body>;

export async function requestPublication(ctx: AppMutationCtx, input: Input) {
  const app = await lockAppFor(ctx, { required: 'owners' });
  requirePublishable(app);
  const ref = { tenantId: ctx.tenant.id, appId: app.id };
  if (!(await needsApproval(ctx, app, input.visibility, app.data_scopes)))
    throw fail('not_wider', {
      detail: `The app is already ${app.visibility}. To make it less visible, update the app.`,
    });
  const deployed = await findDeployed(ctx.db, ref);
  const pin = choosePin(input.deployment_id, deployed);
  const open = await findOpenPublicationRow(ctx.db, ref);
  if (open && !isOver(open, ctx.now, deployed)) return repeatRequest(ctx, app, { waiting: open, input, pin });
  const row = buildRow(ctx, app, { input, pin });
  const policy = hasNewScopes(row) ? null : await findInvitePolicy(ctx, ref, input);
  if (policy) {
    if (open) await endOverdueRequest(ctx, open);
    return approveByPolicy(ctx, app, { row, policy });
  }
  // Audited first, so that the plan starts with the new request and not with the one it ends.
  ctx.audit({
    ...requestEntry('publications.request', app, row.id),
    before: null,
    after: {
      status: row.status,
      visibility: row.visibility,
      visibility_before: row.visibility_before,
      ...pin,
      note: row.note,
      ...newScopes(row),
      expires_after_days: publicationDaysMax,
    },
  });
  if (open) await endOverdueRequest(ctx, open);
  await insertPublicationRow(ctx.db, row);
  await markReviewed(ctx, ref, 'pending');
  await notifyRequested(ctx, row);
  return publicationRecord(ctx, row);
}

function choosePin(named: string | undefined, deployed: Deployed): Pin {
  const pin = pinFor(named, deployed);
  if (pin) return pin;
  if (named === undefined) throw fail('nothing_deployed');
  throw fail('stale_deployment', { detail: `${named} is neither live nor staged.` });
}

async function repeatRequest(
  ctx: AppMutationCtx,
  app: LockedApp,
  { waiting, input, pin }: { waiting: PublicationRow; input: Input; pin: Pin },
) {
  const isSame =
    waiting.requested_by === ctx.caller.userId &&
    waiting.visibility === input.visibility &&
    waiting.note === input.note &&
    isDeepEqual(waiting.data_scopes, app.data_scopes) &&
    isSamePin(waiting, pin);
  if (!isSame)
    throw fail('request_open', {
      detail: `Request ${waiting.id} for ${waiting.visibility} is waiting for review. Withdraw it first.`,
    });
  return unchangedRecord(ctx, requestEntry('publications.request', app, waiting.id), waiting);
}

function requestEntry(action: string, app: LockedApp, id: string) {
  return { action, appId: app.id, target: { kind: 'publication_request', id, name: app.slug } };
}

async function unchangedRecord(
  ctx: MutationCtx,
  entry: ReturnType<typeof requestEntry>,
  row: PublicationRow,
) {
  ctx.audit({ ...entry, before: {}, after: {} });
  return { ...(await publicationRecord(ctx, row)), changed: false as const };
}

function buildRow(
  ctx: AppMutationCtx,
  app: LockedApp,
  { input, pin }: { input: Input; pin: Pin },
): PublicationRow {
  return {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    app_id: app.id,
    status: 'pending',
    visibility: input.visibility,
    visibility_before: app.visibility,
    ...pin,
    data_scopes: app.data_scopes,
    data_scopes_before: app.approved_data_scopes,
    note: input.note,
    requested_by: ctx.caller.userId,
    requested_at: ctx.now,
    expires_at: daysAfter(ctx.now, publicationDaysMax),
    decided_by: null,
    decided_at: null,
    reason: '',
  };
}

export async function approvePublication(ctx: TenantMutationCtx, { id, note }: { id: string; note: string }) {
  const { app, ref, request } = await lockRequest(ctx, { id });
  if (app.callerRole !== 'tenant_admin') throw fail('forbidden');
  const entry = requestEntry('publications.approve', app, id);
  if (request.status === 'approved' && request.decided_by === ctx.caller.userId)
    return unchangedRecord(ctx, entry, request);
  if (currentStatus(request, ctx.now) === 'superseded')
    throw fail('stale_deployment', { detail: request.reason });
  requirePending(request, ctx.now);
  requirePublishable(app);
  const approval = await authorizeApprover(ctx, {
    requestedBy: request.requested_by,
    refusal: 'self_review',
  });
  if (!isStillDeployed(request, await findDeployed(ctx.db, ref))) throw fail('stale_deployment');
  if (request.pinned === 'built') return approveDeployment(ctx, { app, ref, request, note, approval });
  if (!(await needsApproval(ctx, app, request.visibility, request.data_scopes))) throw fail('not_wider');

  const { visibility, digest } = request;
  const decided_by = ctx.caller.userId;
  const set = { status: 'approved', decided_by, decided_at: ctx.now, reason: note } as const;
  const approved = await closePublicationRow(ctx.db, request, set);
  const shown = await publishPinned(ctx, app, { ...approved, note });
  await widenApp(ctx, ref, { visibility, invitedMax: null });
  await approveDataScopes(ctx, ref, request.data_scopes);
  ctx.audit({
    ...entry,
    before: { status: 'pending', visibility: app.visibility, ...shown.before },
    after: {
      status: 'approved',
      visibility,
      digest,
      note,
      ...newScopes(request),
      ...approval,
      ...shown.after,
    },
  });
  await notifyOwners(ctx, { ...approved, status: 'approved' });
  return publicationRecord(ctx, approved);
}

async function approveDeployment(
  ctx: TenantMutationCtx,
  {
    app,
    ref,
    request,
    note,
    approval,
  }: Awaited<ReturnType<typeof lockRequest>> & {
    note: string;
    approval: Awaited<ReturnType<typeof authorizeApprover>>;
  },
) {
  const { visibility, digest, deployment_id } = request;
  if (deployment_id === null) throw fail('stale_deployment');
  const set = {
    status: 'approved',
    decided_by: ctx.caller.userId,
    decided_at: ctx.now,
    reason: note,
  } as const;
  const approved = await closePublicationRow(ctx.db, request, set);
  await resetReviewStatus(ctx, ref);
  await startReviewedDeployment(ctx, ref, { id: deployment_id, visibility });
  await approveDataScopes(ctx, ref, request.data_scopes);
  ctx.audit({
    ...requestEntry('publications.approve', app, request.id),
    before: { status: 'pending', deployment: 'built' },
    after: {
      status: 'approved',
      deployment: 'releasing',
      deployment_id,
      digest,
      note,
      ...newScopes(request),
      ...approval,
    },
  });
  await notifyOwners(ctx, { ...approved, status: 'approved' });
  return publicationRecord(ctx, approved);
}

function requirePending(request: PublicationRow, now: Date): void {
  const status = currentStatus(request, now);
  if (status !== 'pending') throw fail('settled', { detail: `The request is ${status}.` });
}

export async function rejectPublication(
  ctx: TenantMutationCtx,
  { id, reason }: { id: string; reason: string },
) {
  const { app, ref, request } = await lockRequest(ctx, { id });
  const entry = requestEntry('publications.reject', app, id);
  if (request.status === 'rejected' && request.decided_by === ctx.caller.userId)
    return unchangedRecord(ctx, entry, request);
  requirePending(request, ctx.now);
  if (request.requested_by === ctx.caller.userId)
    throw fail('self_review', { detail: 'You requested this yourself. Withdraw the request instead.' });
  const set = { status: 'rejected', decided_by: ctx.caller.userId, decided_at: ctx.now, reason } as const;
  const rejected = await closePublicationRow(ctx.db, request, set);
  if (request.pinned === 'built') await resetReviewStatus(ctx, ref);
  else await markReviewed(ctx, ref, 'rejected');
  await endWaitingDeployment(ctx, request, 'canceled');
  const { visibility } = app;
  ctx.audit({
    ...entry,
    before: { status: 'pending', visibility },
    after: { status: 'rejected', visibility, reason },
  });
  await notifyOwners(ctx, { ...rejected, status: 'rejected' });
  return publicationRecord(ctx, rejected);
}

export async function withdrawPublication(ctx: TenantMutationCtx, { id }: { id: string }) {
  const { app, request } = await lockRequest(ctx, { id });
  const isTheirs = request.requested_by === ctx.caller.userId || ownsApp(app.relation);
  if (!isTheirs)
    throw fail('forbidden', {
      detail: 'Only the requester or an owner of the app can withdraw the request. You can reject it.',
    });
  const entry = requestEntry('publications.withdraw', app, id);
  if (request.status === 'withdrawn' && request.decided_by === ctx.caller.userId)
    return unchangedRecord(ctx, entry, request);
  requirePending(request, ctx.now);
  await endRequest(ctx, request, { status: 'withdrawn', reason: '' });
  const { visibility } = app;
  ctx.audit({
    ...entry,
    before: { status: 'pending', visibility },
    after: { status: 'withdrawn', visibility },
  });
  return publicationRecord(ctx, (await findPublicationRow(ctx.db, ctx.tenant.id, id)) ?? request);
}

/** The lock serializes all changes of the app and its requests. */
async function lockRequest(ctx: TenantMutationCtx, { id }: { id: string }) {
  const { db, tenant, caller } = ctx;
  const found = await findPublicationRow(db, tenant.id, id);
  const row = found && (await lockApp(db, tenant.id, found.app_id, 'any'));
  const request = row && (await findPublicationRow(db, tenant.id, id));
  const member = await findMember(db, tenant.id, caller.userId);
  if (!request || member?.status !== 'active') throw fail('not_found');
  const seen = await findAppOfTenant(db, tenant.id, { ref: row.id, userId: caller.userId });
  const relation = seen?.relation ?? 'none';
  if (!canSeeRequest({ relation, role: member.role })) throw fail('not_found');
  const app = { ...row, relation, callerRole: member.role };
  return { app, ref: { tenantId: tenant.id, appId: row.id }, request };
}

function requirePublishable({ record, runtime }: Pick<LockedApp, 'record' | 'runtime'>): void {
  if (record !== 'active')
    throw fail('app_not_active', { detail: `The app is ${record}. Restore it first.` });
  if (runtime === 'suspended') throw fail('app_suspended');
}
