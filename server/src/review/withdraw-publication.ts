import type { TenantMutationCtx } from '../plumbing/context.ts';
import { ownsApp } from '../plumbing/is-enough.ts';
import { fail } from '../plumbing/problem.ts';
import { endRequest } from './end-request.ts';
import { holdRequest } from './hold-request.ts';
import { publicationRecord } from './publication-records.ts';
import { statusOf } from './rules.ts';
import { findPublicationRow } from './store.ts';

/** By any who own the app, or by an admin who asked for it when they did. */
export async function withdrawPublication(ctx: TenantMutationCtx, { id }: { id: string }) {
  const { app, request } = await holdRequest(ctx, { id });
  const isTheirs = request.requested_by === ctx.caller.userId || ownsApp(app.relation);
  if (!isTheirs)
    throw fail('forbidden', { detail: 'Who asked for it or owns the app may; to refuse it, reject it.' });
  const audited = {
    action: 'publications.withdraw',
    appId: app.id,
    target: { kind: 'publication_request', id, name: app.slug },
  };
  if (request.status === 'withdrawn' && request.decided_by === ctx.caller.userId) {
    ctx.audit({ ...audited, before: {}, after: {} });
    return { ...(await publicationRecord(ctx, request)), changed: false as const };
  }
  const status = statusOf(request, ctx.now);
  if (status !== 'pending') throw fail('settled', { detail: `The request is ${status}.` });
  await endRequest(ctx, request, { status: 'withdrawn', reason: '' });
  const { visibility } = app;
  ctx.audit({
    ...audited,
    before: { status: 'pending', visibility },
    after: { status: 'withdrawn', visibility },
  });
  return publicationRecord(ctx, (await findPublicationRow(ctx.db, ctx.tenant.id, id)) ?? request);
}
