import { approvalMinutesMax } from '@svc/contract/bootstrap.ts';
import type { GitDeviceCode } from '@svc/contract/git-host.shapes.ts';
import type { z } from 'zod';
import { taken } from '../apps/create-app.ts';
import { startGitLink } from '../git-connections/start-git-link.ts';
import { sha256 } from '../plumbing/canonical.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import type { HostAsked } from './ask-host-first.ts';
import { type BootstrapParts, workTag } from './bootstrap-parts.ts';
import { endRun } from './end-run.ts';
import { firstBranch, type RunKind, type StepName } from './rules.ts';
import type { RunInput } from './run-input.ts';
import { type RunRecord, runRecord } from './run-record.ts';
import type { StepEnd } from './step-work.ts';
import { reserveAppFor } from './steps/reserve-app.ts';
import { findRun, insertRunRow, lockAwaitingRuns, updateStepRow } from './store.ts';

export interface NewRun {
  kind: RunKind;
  input: RunInput;
  templateId: string | null;
  sourceAppId: string | null;
  /** For the plan: what it is made from. */
  from: string;
}

/** Makes the run, and the app with it where nobody has to approve anything first. */
export async function startRun(
  ctx: TenantMutationCtx,
  { kind, input, templateId, sourceAppId, from }: NewRun,
  { isLinked, grant }: HostAsked,
  parts: BootstrapParts,
): Promise<RunRecord & { approval: Approval | null }> {
  const { id: tenantId } = ctx.tenant;
  await giveUpOwn(ctx, input.slug);
  const approval = isLinked ? null : await startGitLink(ctx, parts, grant);
  const id = ctx.newId();
  const run = { id, tenant_id: tenantId, input, template_id: templateId, source_app_id: sourceAppId };
  const isMade = await insertRunRow(ctx.db, {
    ...run,
    kind,
    state: isLinked ? 'running' : 'awaiting_approval',
    ...(isLinked ? {} : approvalOf(ctx.now, approval)),
    created_by: ctx.caller.userId,
    created_at: ctx.now,
  });
  if (!isMade) throw taken('slug', input.slug);
  ctx.audit({
    action: kind === 'fork' ? 'apps.fork' : 'bootstraps.start',
    target: { kind: 'bootstrap_run', id, name: input.slug },
    before: null,
    after: {
      from,
      app: input.slug,
      repository: `${ownerShown(ctx, input, parts)}${input.repo.name}`,
      repository_private: input.repo.isPrivate,
      connection: firstBranch,
      deployment: 'the first',
      ...(input.tables.length > 0 ? { tables: input.tables.map(({ name }) => name) } : {}),
      ...(isLinked ? {} : { waits_for: 'your account at the git host' }),
    },
  });
  // Of executions too: a plan is the same for both.
  ctx.warn('Whether the repository can be made there, the git host is asked when the run is started.');
  if (isLinked) {
    const detail = parts.gitHost.isBuiltIn ? 'The git host is built in.' : 'Your account is linked.';
    await finishStep(ctx, id, 'authorize', { state: 'done', output: {}, detail });
    await finishStep(ctx, id, 'reserve_app', await reserveAppFor(ctx, run, parts));
    ctx.changed(workTag);
  }
  const made = await findRun(ctx.db, tenantId, id);
  if (!made) throw new Error('A run that was made is not there.');
  return { ...(await runRecord(ctx.db, made, parts)), approval };
}

type Approval = z.output<typeof GitDeviceCode>;

function approvalOf(now: Date, approval: Approval | null) {
  const latest = new Date(now.getTime() + approvalMinutesMax * 60_000);
  const expires = approval ? new Date(approval.expires_at) : latest;
  return {
    device_code_hash: approval ? sha256(approval.device_code) : null,
    approval_until: expires < latest ? expires : latest,
  };
}

/** Who begins anew has given up waiting for the code before. */
async function giveUpOwn(ctx: TenantMutationCtx, slug: string): Promise<void> {
  for (const run of await lockAwaitingRuns(ctx.db, ctx.tenant.id, ctx.caller.userId))
    if (run.slug === slug) await endRun(ctx, run, { state: 'canceled' });
}

function ownerShown(ctx: TenantMutationCtx, { repo }: RunInput, { gitHost }: BootstrapParts): string {
  const owner = repo.owner ?? (gitHost.isBuiltIn && repo.installationId === null ? ctx.tenant.slug : null);
  return owner === null ? '' : `${owner}/`;
}

async function finishStep(ctx: TenantMutationCtx, runId: string, name: StepName, end: StepEnd) {
  const { state, output, detail } = end;
  const set = { state, output, detail, attempts: 1, started_at: ctx.now, ended_at: ctx.now };
  await updateStepRow(ctx.db, { runId, name, set });
}
