import { getApp } from '@svc/contract/apps.ts';
import type { startBootstrap as shape } from '@svc/contract/bootstrap.shapes.ts';
import { startBootstrap } from '@svc/contract/bootstrap.ts';
import { ProblemError } from '@svc/contract/client.ts';
import type { Input } from '@svc/contract/endpoint.ts';
import { uuidPattern } from '@svc/contract/limits.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import {
  codeScope,
  type IssuedCode,
  previewApproval,
  requestMs,
  resumeApproval,
  storeIssuedCode,
  waitForApproval,
} from '../git-host/approval.ts';
import { linkedResult } from '../git-host/connect-app.ts';
import type { ResumeOptions } from '../git-host/flags.ts';
import { pendingResult, redactDeviceCode, resumeLine } from '../git-host/show-code.ts';
import { mutate } from '../mutation.ts';
import { AdvisedProblemError } from '../session/problems.ts';
import { explicitTenant, resolveTenant } from '../session/tenant.ts';
import { withTimeout } from '../session/waiting.ts';
import { bootstrapView } from '../views/delivery.ts';
import type { WatchOptions } from './flags.ts';
import { type RunRecord, readRun, type StartedRun, startedRunResult, watchRun } from './watch-run.ts';

export interface AppBootstrap {
  request: Input<typeof shape>['body'] | null;
  resume: ResumeOptions | null;
  watch: WatchOptions | null;
}

export async function bootstrapApp(ctx: Ctx, { request, resume, watch }: AppBootstrap): Promise<Result> {
  const tenantID = await resolveTenant(ctx);
  if (resume !== null) {
    const scope = await codeScope(ctx);
    if (ctx.mutation.mode === 'preview') return previewApproval(ctx, scope, resume, 'bootstrap');
    const approval = await resumeApproval(ctx, scope, resume, 'bootstrap');
    if (approval.status === 'pending') return pendingResult(ctx, approval.code);
    const { run_id } = approval.code;
    if (run_id !== null) {
      if (request !== null) ctx.note('Resuming the run that waited for the code; other flags are ignored.');
      return runResult(ctx, { tenantID, watch, run: await readRun(ctx, { tenantID, run: run_id }) });
    }
    if (request === null) {
      ctx.note('Waiting runs continue; svc apps bootstrap-status <id> shows one.');
      return linkedResult(approval);
    }
  }
  if (request === null) throw new Error('A bootstrap needs a request or a code.');
  const result = await startRun(ctx, { tenantID, request, isResumed: resume !== null });
  if (ctx.mutation.mode === 'preview') return result;
  const started = result.value as StartedRun;
  if (started.approval === null) return runResult(ctx, { tenantID, watch, run: started });
  const approved = await approveRun(ctx, { ...started, approval: started.approval });
  if ('waits' in approved) return { ...result, ...approved.waits };
  return runResult(ctx, { tenantID, watch, run: approved.run });
}

async function startRun(
  ctx: Ctx,
  {
    tenantID,
    request,
    isResumed,
  }: { tenantID: string; request: NonNullable<AppBootstrap['request']>; isResumed: boolean },
): Promise<Result> {
  const input = { params: { tenantID }, body: request };
  const limited = withTimeout(redactDeviceCode(ctx), requestMs);
  return mutate(limited, startBootstrap, input, { view: bootstrapView }).catch((cause: unknown) => {
    if (!isResumed || !(cause instanceof ProblemError) || cause.problem.code !== 'slug_taken') throw cause;
    const next = 'The run that waited for this code may have created it: svc apps get <slug> shows it.';
    throw new AdvisedProblemError(cause.problem, next);
  });
}

async function runResult(
  ctx: Ctx,
  { tenantID, watch, run }: { tenantID: string; watch: WatchOptions | null; run: RunRecord },
): Promise<Result> {
  const { value, ...rest } =
    watch === null ? startedRunResult(ctx, run) : await watchRun(ctx, { tenantID, run, watch });
  return { ...rest, value: { ...(value as RunRecord), approval: null } };
}

export async function finishFork(ctx: Ctx, result: Result): Promise<Result> {
  if (ctx.mutation.mode === 'preview') return result;
  const { approval, ...started } = result.value as StartedRun;
  if (approval === null) return forkResult(ctx, started);
  const approved = await approveRun(ctx, { ...started, approval });
  return 'waits' in approved ? { ...result, ...approved.waits } : forkResult(ctx, approved.run);
}

function forkResult(ctx: Ctx, run: RunRecord): Result {
  return { ...startedRunResult(ctx, run), value: { ...run, approval: null } };
}

export type ApprovedRun = { run: RunRecord } | { waits: Pick<Result, 'text' | 'exit'> };

export async function approveRun(
  ctx: Ctx,
  { approval, ...run }: StartedRun & { approval: IssuedCode },
): Promise<ApprovedRun> {
  const scope = await codeScope(ctx);
  const code = await storeIssuedCode(ctx, scope, approval, { purpose: 'bootstrap', runId: run.id });
  if (!(await ctx.io.isTerminal('stderr'))) {
    const resumeHint = `After the approval: ${resumeLine(ctx, code)}`;
    // The table output prints the line itself; the JSON output contains the code for --device-code.
    if (ctx.globals.format !== 'table') ctx.say(resumeHint);
    const text = `Run ${run.id} needs your approval at the git host.\n${resumeHint}\n`;
    return { waits: { text: () => text, exit: 11 } };
  }
  await waitForApproval(ctx, scope, code, null);
  return { run: await readRun(ctx, { tenantID: scope.tenant, run: run.id }) };
}

/** A slug is looked up in the active tenant, because `--tenant` is the destination; the id is used if they differ. */
export async function resolveForkSource(
  ctx: Ctx,
  { source, destination }: { source: string; destination: string },
): Promise<string> {
  if (uuidPattern.test(source)) return source;
  const home = await homeTenant(ctx);
  if (home === undefined || home === destination) return source;
  const params = { tenantID: home, app: source };
  const client = await ctx.client();
  const app = await client.call(getApp, { params }).catch((cause: unknown) => {
    if (!(cause instanceof ProblemError) || cause.problem.code !== 'not_found') throw cause;
    const next =
      'A slug is looked up in the active tenant (svc whoami), and --tenant is the destination. Use the id for an app of another tenant.';
    throw new AdvisedProblemError(cause.problem, next);
  });
  return app.id;
}

async function homeTenant(ctx: Ctx): Promise<string | undefined> {
  const tenant = ctx.io.env.SVC_TENANT || undefined;
  const said = await explicitTenant({ ...ctx, globals: { ...ctx.globals, tenant } });
  return said ?? (await ctx.session()).tenant?.id;
}
