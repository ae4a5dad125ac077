import { lockApp } from '../apps/app-row.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { endRow } from './end-row.ts';
import { refuseStopped } from './rules.ts';
import { type DeploymentRow, insertDeploymentRow, lockOpenRows, takeSeq } from './store.ts';

/** Wakes the copies of the server that carry deployments out. */
export const workTag = 'work:deployments';

export interface NewDeployment {
  tenantId: string;
  appId: string;
  trigger: DeploymentRow['trigger'];
  source: DeploymentRow['source'];
  /** A branch, a tag or a commit; without one the connected branch as it is when it is fetched. */
  ref?: string | null | undefined;
  /** `owner/name`, for show; what is fetched follows the connection. */
  repo?: string | null | undefined;
  uploadId?: string | null | undefined;
  createdBy: string | null;
  kind?: DeploymentRow['kind'];
  /** What was built before, to be started again. */
  again?: Partial<DeploymentRow>;
}

/**
 * Puts a deployment in line, under the app's lock, and those that still wait out of it: the newest is what counts. One
 * that is worked on already goes on; this one comes after it.
 */
export async function queueDeployment(ctx: MutationCtx, wish: NewDeployment): Promise<DeploymentRow> {
  const { tenantId, appId, kind = 'deploy' } = wish;
  const place = { tenantId, appId };
  const app = await lockApp(ctx.db, tenantId, appId);
  if (!app) throw fail('not_found');
  refuseStopped(app, kind);
  for (const older of await lockOpenRows(ctx.db, place)) {
    if (older.state !== 'queued') continue;
    await endRow(ctx, older, { state: 'skipped' });
    ctx.warn(`Deployment #${older.seq} still waits, and is skipped for this one.`);
  }
  const row: DeploymentRow = {
    ...{ ...emptyRow, ...wish.again },
    ...{ id: ctx.newId(), tenant_id: tenantId, app_id: appId, seq: await takeSeq(ctx.db, place) },
    ...{ kind, trigger: wish.trigger, method: app.deploy_method, source: wish.source },
    ...{ repo: wish.repo ?? wish.again?.repo ?? null, ref: wish.ref ?? wish.again?.ref ?? null },
    ...{ upload_id: wish.uploadId ?? null, created_by: wish.createdBy, created_at: ctx.now },
  };
  await insertDeploymentRow(ctx.db, row);
  ctx.audit({
    action: 'deployments.create',
    appId,
    target: { kind: 'deployment', id: row.id, name: deploymentName(app.slug, row) },
    before: null,
    after: {
      ...{ app: app.slug, seq: row.seq, kind, trigger: row.trigger, method: row.method, source: row.source },
      ...{ repo: row.repo, ref: row.ref, rollback_of: row.rollback_of },
    },
  });
  ctx.changed(workTag);
  return row;
}

export function deploymentName(slug: string, { seq }: Pick<DeploymentRow, 'seq'>): string {
  return `${slug} #${seq}`;
}

const emptyRow: Omit<
  DeploymentRow,
  'id' | 'tenant_id' | 'app_id' | 'seq' | 'kind' | 'trigger' | 'method' | 'source' | 'created_at'
> = {
  ...{ state: 'queued', step: null, repo: null, ref: null, commit_sha: null, commit_message: null },
  ...{ upload_id: null, runtime: null, artifact: null, start_with: null, digest: null, is_kept: false },
  ...{ rollback_of: null, release_id: null, env_sealed: null },
  ...{ failure_code: null, failure_step: null, failure_detail: null, cancel_asked: false, attempts: 0 },
  ...{ lease_holder: null, lease_until: null, created_by: null },
  ...{ started_at: null, built_at: null, live_at: null, ended_at: null },
};
