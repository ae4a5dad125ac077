import { keptApp } from '../apps/app-row.ts';
import { holdApp } from '../apps/hold-app.ts';
import type { BuildPlan, Runtime } from '../drivers/runtime/runtime.ts';
import { connectionOf } from '../git-connections/connection-of.ts';
import type { AppCtx, AppMutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import type { SitePlaces } from '../static-sites/site-urls.ts';
import { type DeploymentRecord, deploymentRecord } from './deployment-record.ts';
import { hasArrived } from './has-arrived.ts';
import { queueDeployment } from './queue-deployment.ts';
import { refuseStopped } from './rules.ts';
import type { Wanted } from './wanted-of.ts';

export async function createDeployment(
  ctx: AppMutationCtx,
  { ref, uploadId }: Wanted,
  places: SitePlaces,
): Promise<DeploymentRecord> {
  const app = await holdApp(ctx, { wanted: 'owners' });
  refuseStopped(app);
  const place = { tenantId: ctx.tenant.id, appId: app.id };
  if (uploadId !== undefined && ref !== undefined)
    throw invalid('ref', 'is of the connected repository, and source was uploaded in its place');
  const connection = uploadId === undefined ? await connectionOf(ctx.db, place) : null;
  if (uploadId === undefined && !connection) throw fail('no_source');
  const sentId = uploadId === 'pending' ? undefined : uploadId;
  if (sentId !== undefined && !(await hasArrived(ctx.db, place, { uploadId: sentId })))
    throw fail('no_source', { detail: 'The source has not arrived, or was kept for too long.' });
  const row = await queueDeployment(ctx, {
    ...place,
    trigger: 'person',
    source: connection ? 'repository' : 'upload',
    repo: connection && `${connection.repo.owner}/${connection.repo.name}`,
    ref: connection && (ref ?? connection.branch),
    uploadId: sentId,
    createdBy: ctx.caller.userId,
  });
  return deploymentRecord(row, { subdomain: app.subdomain, places });
}

/** What apps run on here may not know the method at all: then nothing is begun. */
export async function refuseMethod(ctx: AppCtx, runtime: Pick<Runtime, 'refuses'>): Promise<void> {
  const app = await keptApp(ctx.db, ctx.tenant.id, ctx.app.id);
  if (app) refuseStopped(app);
  const method = app?.deploy_method;
  if (method !== 'compose') return;
  const why = await runtime.refuses({ method, plan: anyCompose });
  if (why !== null) throw fail('runtime_unsupported', { detail: why });
}

const anyCompose: BuildPlan = {
  ...{ installCommand: null, buildCommand: null, dir: '.', startCommand: null, outputDir: null },
  ...{ dockerfile: null, composeFile: 'compose.yaml', language: 'unknown' },
};
