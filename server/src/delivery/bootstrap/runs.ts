import type { BootstrapRun } from '@svc/contract/bootstrap.shapes.ts';
import { CompiledQuery, sql } from 'kysely';
import type { z } from 'zod';
import { findApp, findAppById } from '../../apps/record/find-app.ts';
import { appUrl } from '../../apps/record/rules.ts';
import { type MutationCtx, ownsApp, type TenantCtx, type TenantMutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { notifySql } from '../../core/invalidation.ts';
import { fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { GitHost, RepoName } from '../../drivers/git/git-host.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import type { LinkEvents, TenantUser } from '../git-connections/rules.ts';
import type { SiteUrls } from '../static-sites/rules.ts';
import { currentStep, type FailureCode, isEnded, type StepName, undoCommands, workTag } from './rules.ts';
import {
  findRun,
  leaveStepRows,
  lockAwaitingRuns,
  lockRun,
  type Run,
  type RunRow,
  type StepRow,
  updateRunRow,
  updateStepRow,
} from './store.ts';

export async function getBootstrap(ctx: TenantCtx, { run: id }: { run: string }, urls: RunUrls) {
  const run = await findRun(ctx.db, ctx.tenant.id, id);
  if (!run || !(await canSeeRun(ctx, run))) throw fail('not_found');
  return runRecord(ctx.db, run, urls);
}

async function canSeeRun({ db, tenant, caller }: TenantCtx, run: Run): Promise<boolean> {
  if (run.created_by === caller.userId || tenant.role === 'tenant_admin') return true;
  const app = run.app_id === null ? null : await findApp(db, tenant, { ref: run.app_id, caller });
  return app !== null && ownsApp(app.relation);
}

export async function cancelBootstrap(ctx: TenantMutationCtx, { run: id }: { run: string }, urls: RunUrls) {
  const run = await lockRun(ctx.db, ctx.tenant.id, id);
  if (!run || run.created_by !== ctx.caller.userId) throw fail('not_found');
  // A run that ended otherwise after the cancellation was requested is not canceled.
  const isRepeated = isEnded(run.state) ? run.state === 'canceled' : run.cancel_asked;
  if (isEnded(run.state) && !isRepeated)
    throw fail('invalid_state_transition', { detail: `The run has already ended: it is ${run.state}.` });
  if (!isRepeated) {
    if (isLeased(run, ctx.now)) await requestCancel(ctx, run);
    else await endRun(ctx, run, { state: 'canceled' });
  }
  const after = (await lockRun(ctx.db, ctx.tenant.id, id)) ?? run;
  const answer = await runRecord(ctx.db, after, urls);
  return isRepeated ? { ...answer, changed: false as const } : answer;
}

function isLeased(run: Run, now: Date): boolean {
  return run.state === 'running' && run.lease_until !== null && run.lease_until > now;
}

async function requestCancel(ctx: TenantMutationCtx, run: Run): Promise<void> {
  await updateRunRow(ctx.db, run, { cancel_asked: true });
  ctx.audit({
    action: 'bootstraps.cancel',
    target: { kind: 'bootstrap_run', id: run.id, name: run.slug },
    before: { cancel_asked: false },
    after: { cancel_asked: true },
  });
  ctx.invalidate(workTag);
}

export type RunResult =
  | { state: 'done' | 'canceled' }
  | { state: 'failed'; step: StepName; failure: { code: FailureCode; detail: string } };

/** Ends the run; what it created stays. Caller must hold the run's row lock. */
export async function endRun(ctx: MutationCtx, run: RunRow, ending: RunResult): Promise<void> {
  const failure = ending.state === 'failed' ? ending.failure : null;
  await updateRunRow(ctx.db, run, {
    state: ending.state,
    failure_code: failure?.code ?? null,
    failure_detail: failure?.detail ?? null,
    lease_holder: null,
    lease_until: null,
    next_try_at: null,
    ended_at: ctx.now,
  });
  if (ending.state === 'failed') {
    const { detail } = ending.failure;
    await updateStepRow(ctx.db, run.id, ending.step, { state: 'failed', detail, ended_at: ctx.now });
  }
  if (ending.state === 'canceled') await leaveStepRows(ctx.db, run.id, 'The run was canceled.');
  ctx.audit({
    action: 'bootstraps.end',
    ...(run.app_id === null ? {} : { appId: run.app_id }),
    target: { kind: 'bootstrap_run', id: run.id, name: run.slug },
    before: { state: run.state },
    after: { state: ending.state, ...(failure ? { failure: failure.code } : {}) },
  });
}

export type RunRecord = z.output<typeof BootstrapRun>;

type RunUrls = SiteUrls & { gitHost: Pick<GitHost, 'isBuiltIn' | 'webUrl'> };

export async function runRecord(db: Db, run: Run, { gitHost, ...urls }: RunUrls): Promise<RunRecord> {
  const app = run.app_id === null ? null : await findAppById({ db }, { id: run.app_id });
  const tenant = await findTenant({ db }, { ref: run.tenant_id });
  const repo = createdRepo(run);
  const repoName = repo && `${repo.owner}/${repo.name}`;
  return {
    id: run.id,
    kind: run.kind,
    state: run.state,
    step: currentStep(run.state, run.steps),
    steps: run.steps.map(stepRecord),
    template_id: run.template_id,
    source_app_id: run.source_app_id,
    slug: run.slug,
    app_id: run.app_id,
    repo: repoName,
    commit: seedCommit(run),
    deployment_id: firstDeploymentId(run),
    url: app?.subdomain ? appUrl(urls, app.subdomain) : null,
    clone_url: repo?.cloneUrl ?? null,
    failure: run.failure_code === null ? null : { code: run.failure_code, detail: run.failure_detail ?? '' },
    undo: undoCommands(
      run,
      { app: app && { slug: app.slug, tenant: tenant?.slug ?? run.tenant_id }, repo: repoName },
      { isBuiltIn: gitHost.isBuiltIn, apiUrl: `${gitHost.webUrl}/api/v3` },
    ),
    created_by: run.created_by,
    created_at: run.created_at.toISOString(),
    ended_at: run.ended_at?.toISOString() ?? null,
  };
}

function stepRecord(step: StepRow): RunRecord['steps'][number] {
  return {
    name: step.name,
    state: step.state,
    attempts: step.attempts,
    detail: step.detail,
    started_at: step.started_at?.toISOString() ?? null,
    ended_at: step.ended_at?.toISOString() ?? null,
  };
}

export interface RepoOutput extends RepoName {
  id: number;
  installationId: number;
  isPrivate: boolean;
  cloneUrl: string;
  webUrl: string;
}

export function stepOutput<T>(run: Run, name: StepName): Partial<T> {
  return (run.steps.find((step) => step.name === name)?.output ?? {}) as Partial<T>;
}

function createdRepo(run: Run): RepoOutput | null {
  const output = stepOutput<RepoOutput>(run, 'create_repo');
  return output.id === undefined ? null : (output as RepoOutput);
}

export function requireCreatedRepo(run: Run): RepoOutput {
  const repo = createdRepo(run);
  if (!repo) throw new Error('The run has no repository yet.');
  return repo;
}

const seedCommit = (run: Run) => stepOutput<{ sha: string }>(run, 'seed_repo').sha ?? null;
export const firstDeploymentId = (run: Run) =>
  stepOutput<{ deploymentId: string }>(run, 'first_deploy').deploymentId ?? null;

/** Passed to git-connections, which must not import this slice. */
export const linkEvents: LinkEvents = { linked: resumeAfterLink, denied: markDenied };

async function resumeAfterLink(ctx: MutationCtx, { tenantId, userId }: TenantUser) {
  for (const run of await lockAwaitingRuns(ctx.db, tenantId, userId)) {
    const done = { state: 'done', output: {}, detail: 'Your account is linked.', ended_at: ctx.now } as const;
    await updateStepRow(ctx.db, run.id, 'authorize', done);
    await updateRunRow(ctx.db, run, { state: 'running', device_code_hash: null, approval_until: null });
    ctx.audit({
      action: 'bootstraps.goOn',
      target: { kind: 'bootstrap_run', id: run.id, name: run.slug },
      before: { state: 'awaiting_approval' },
      after: { state: 'running' },
    });
    ctx.invalidate(workTag);
  }
}

/** A worker then fails the run. The poll that found this is rejected, so there is no transaction to join. */
export async function markDenied(
  db: Db,
  { tenantId, userId }: TenantUser,
  { deviceCode }: { deviceCode: string },
): Promise<void> {
  const { numAffectedRows } = await sql`
    update svc.bootstrap_runs set is_denied = true
    where tenant_id = ${tenantId} and created_by = ${userId} and state = 'awaiting_approval'
      and device_code_hash = ${sha256(deviceCode)}`.execute(db);
  if (numAffectedRows) await db.executeQuery(CompiledQuery.raw(notifySql, [workTag]));
}
