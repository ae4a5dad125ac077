import { widenApp } from '../apps/mark-reviewed.ts';
import { widens } from '../apps/rules.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { publishRelease } from '../static-sites/publish-release.ts';
import { judgeApprover } from '../tenants/judge-approver.ts';
import { holdRequest } from './hold-request.ts';
import { publicationRecord } from './publication-records.ts';
import { refuseUnfit } from './refuse-unfit.ts';
import { stands, statusOf } from './rules.ts';
import { endPublicationRow, type PublicationRow } from './store.ts';
import { tellOwners } from './tell.ts';
import { whatIsDeployed } from './what-is-deployed.ts';

/** By somebody else than who asked: what was reviewed, and nothing else, is shown to as many people as was asked for. */
export async function approvePublication(ctx: TenantMutationCtx, { id, note }: { id: string; note: string }) {
  const { app, place, request } = await holdRequest(ctx, { id });
  if (app.callerRole !== 'tenant_admin') throw fail('forbidden');
  const audited = {
    action: 'publications.approve',
    appId: app.id,
    target: { kind: 'publication_request', id, name: app.slug },
  };
  if (request.status === 'approved' && request.decided_by === ctx.caller.userId) {
    ctx.audit({ ...audited, before: {}, after: {} });
    return { ...(await publicationRecord(ctx, request)), changed: false as const };
  }
  refuseSettled(request, ctx.now);
  refuseUnfit(app);
  const approval = await judgeApprover(ctx, {
    requestedBy: request.requested_by,
    refusal: 'self_review',
  });
  if (!stands(request, await whatIsDeployed(ctx.db, place))) throw fail('stale_deployment');
  if (!widens(app.visibility, request.visibility)) throw fail('not_wider');

  const { visibility, digest, release_id } = request;
  const decided_by = ctx.caller.userId;
  const set = { status: 'approved', decided_by, decided_at: ctx.now, reason: note } as const;
  const approved = await endPublicationRow(ctx.db, place.tenantId, { id, set });
  const shown =
    release_id === null
      ? { before: {}, after: {} }
      : await publishRelease(ctx, app, { id: release_id, visibility, note });
  await widenApp(ctx, place, visibility);
  ctx.audit({
    ...audited,
    before: { status: 'pending', visibility: app.visibility, ...shown.before },
    after: { status: 'approved', visibility, digest, note, ...approval, ...shown.after },
  });
  await tellOwners(ctx, { ...approved, status: 'approved' });
  return publicationRecord(ctx, approved);
}

/** One that something else has taken the place of tells so: there is something new to look at. */
function refuseSettled(request: PublicationRow, now: Date): void {
  const status = statusOf(request, now);
  if (status === 'superseded') throw fail('stale_deployment', { detail: request.reason });
  if (status !== 'pending') throw fail('settled', { detail: `The request is ${status}.` });
}
