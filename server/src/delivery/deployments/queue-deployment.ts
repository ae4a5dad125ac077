import { lockApp } from '../../apps/record/find-app.ts';
import { nextDeploymentSeq } from '../../apps/record/status-store.ts';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import type { PushDeployments } from '../git-connections/rules.ts';
import { discardTopic, endDeploymentRow } from './artifacts.ts';
import { drainAppInstances } from './instances-store.ts';
import { deploymentName, needsReview, requireDeployable, workTag } from './rules.ts';
import {
  type DeploymentRow,
  findDeploymentRow,
  findNewestDeployment,
  findReviews,
  insertDeploymentRow,
  listDeploymentRows,
  listRowsWithArtifact,
  lockOpenRows,
  updateDeploymentRow,
} from './store.ts';

interface NewDeployment extends AppRef {
  trigger: DeploymentRow['trigger'];
  source: DeploymentRow['source'];
  ref?: string | null | undefined;
  repo?: string | null | undefined;
  uploadId?: string | null | undefined;
  createdBy: string | null;
  kind?: DeploymentRow['kind'];
  reuse?: Partial<DeploymentRow>;
}

/** Replaces queued deployments of the app; one that is already running finishes first. */
export async function queueDeployment(ctx: MutationCtx, input: NewDeployment): Promise<DeploymentRow> {
  const { tenantId, appId, kind = 'deploy' } = input;
  const appRef = { tenantId, appId };
  const app = orNotFound(await lockApp(ctx.db, tenantId, appId));
  requireDeployable(app, kind);
  for (const older of await lockOpenRows(ctx.db, appRef)) {
    if (older.state !== 'queued') continue;
    await endDeploymentRow(ctx, older, { state: 'skipped' });
    ctx.warn(`Deployment #${older.seq} was still queued and is skipped.`);
  }
  const row = await insertDeploymentRow(ctx.db, {
    ...input.reuse,
    state: 'queued',
    id: ctx.newId(),
    tenant_id: tenantId,
    app_id: appId,
    seq: await nextDeploymentSeq(ctx.db, appRef),
    kind,
    trigger: input.trigger,
    method: input.reuse?.method ?? app.deploy_method,
    source: input.source,
    repo: input.repo ?? input.reuse?.repo ?? null,
    ref: input.ref ?? input.reuse?.ref ?? null,
    upload_id: input.uploadId ?? null,
    created_by: input.createdBy,
    created_at: ctx.now,
  });
  const tenant = await findTenant(ctx, { ref: tenantId });
  const isReviewedSite = row.method === 'static' && row.source !== 'artifact' && app.visibility !== 'private';
  if (isReviewedSite || needsReview(row, app.visibility, tenant?.review_deployments ?? 'all'))
    ctx.warn('The deployment waits for a review before it goes live, because other people can see the app.');
  ctx.audit({
    action: 'deployments.create',
    appId,
    target: { kind: 'deployment', id: row.id, name: deploymentName(app.slug, row) },
    before: null,
    after: {
      app: app.slug,
      seq: row.seq,
      kind,
      trigger: row.trigger,
      method: row.method,
      source: row.source,
      repo: row.repo,
      ref: row.ref,
      rollback_of: row.rollback_of,
    },
  });
  ctx.invalidate(workTag);
  return row;
}

/** Passed to git-connections, which must not import this slice. */
export const pushDeployments: PushDeployments = {
  async find(db, app, id) {
    const row = await findDeploymentRow(db, app, id);
    return row && { ...row, review: (await findReviews(db, [row])).get(id)?.status ?? null };
  },
  findNewest: findNewestDeployment,
  deploy: (ctx, push) => queueDeployment(ctx, { ...push, trigger: 'push', source: 'repository' }),
};

/** Cancels deployments and drains instances. Rejected during a release. Caller must hold the app's row lock. */
export async function stopDeployments(ctx: MutationCtx, { slug, ...appRef }: AppRef & { slug: string }) {
  const open = await lockOpenRows(ctx.db, appRef);
  const releasing = open.find(({ state }) => state === 'releasing');
  if (releasing)
    throw fail('deploy_in_progress', { detail: `${deploymentName(slug, releasing)} is being released.` });
  for (const row of open) {
    if (row.state === 'queued') await endDeploymentRow(ctx, row, { state: 'canceled' });
    else await updateDeploymentRow(ctx.db, row, { cancel_asked: true });
    ctx.warn(`Deployment #${row.seq} is canceled.`);
  }
  await drainAppInstances(ctx.db, appRef, { except: null });
  ctx.invalidate(appTag(appRef.appId));
  ctx.invalidate(workTag);
  return { canceled: open.filter((row) => !row.cancel_asked).map(({ seq }) => seq) };
}

/** Must run before the app's rows are deleted. The reconciler stops instances without a row. */
export async function discardDeployments(ctx: MutationCtx, appRef: AppRef): Promise<{ deployments: number }> {
  for (const { runtime, artifact } of await listRowsWithArtifact(ctx.db, appRef)) {
    if (runtime && artifact)
      ctx.enqueue(discardTopic, { tenant_id: appRef.tenantId, app_id: appRef.appId, runtime, artifact });
  }
  ctx.invalidate(workTag);
  const { total } = await listDeploymentRows(ctx.db, appRef, { window: { limit: 1, offset: 0 } });
  return { deployments: total };
}
