import { markReviewed } from '../apps/mark-reviewed.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { holdRequest } from './hold-request.ts';
import { publicationRecord } from './publication-records.ts';
import { statusOf } from './rules.ts';
import { endPublicationRow } from './store.ts';
import { tellOwners } from './tell.ts';

/** By an admin, or by another owner than who asked. Who sees the app stays as it is. */
export async function rejectPublication(
  ctx: TenantMutationCtx,
  { id, reason }: { id: string; reason: string },
) {
  // Admins and owners: who finds the request may.
  const { app, place, request } = await holdRequest(ctx, { id });
  const audited = {
    action: 'publications.reject',
    appId: app.id,
    target: { kind: 'publication_request', id, name: app.slug },
  };
  if (request.status === 'rejected' && request.decided_by === ctx.caller.userId) {
    ctx.audit({ ...audited, before: {}, after: {} });
    return { ...(await publicationRecord(ctx, request)), changed: false as const };
  }
  const status = statusOf(request, ctx.now);
  if (status !== 'pending') throw fail('settled', { detail: `The request is ${status}.` });
  if (request.requested_by === ctx.caller.userId)
    throw fail('self_review', { detail: 'You asked for it yourself; withdraw it instead.' });
  const decided_by = ctx.caller.userId;
  const set = { status: 'rejected', decided_by, decided_at: ctx.now, reason } as const;
  const rejected = await endPublicationRow(ctx.db, place.tenantId, { id, set });
  await markReviewed(ctx, place, 'rejected');
  const { visibility } = app;
  ctx.audit({
    ...audited,
    before: { status: 'pending', visibility },
    after: { status: 'rejected', visibility, reason },
  });
  await tellOwners(ctx, { ...rejected, status: 'rejected' });
  return publicationRecord(ctx, rejected);
}
