import { ProblemError } from '@svc/contract/client.ts';
import type { ErrorCode } from '@svc/contract/error-codes.ts';
import { beginGitConnection, connectGit } from '@svc/contract/git-connections.ts';
import { startGitLink } from '@svc/contract/git-host.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { sanitize } from '../framework/text.ts';
import { mutate } from '../mutation.ts';
import { commandLine } from '../output/plan.ts';
import { resolveTenant } from '../session/tenant.ts';
import { withTimeout } from '../session/waiting.ts';
import { connectionView } from '../views/delivery.ts';
import {
  type Approval,
  codeScope,
  issueCode,
  previewApproval,
  requestMs,
  resumeApproval,
  waitForApproval,
} from './approval.ts';
import type { ResumeOptions } from './flags.ts';
import { isWebUrl, pendingResult, printUnchangedNote, redactDeviceCode } from './show-code.ts';

export interface AppConnection {
  app: string;
  repo: string | undefined;
  branch: string;
  create: boolean | undefined;
  installationId: number | undefined;
  mode: 'direct' | 'guided';
  resume: ResumeOptions | null;
}

export async function connectApp(ctx: Ctx, request: AppConnection): Promise<Result> {
  const connect = () => tryConnect(ctx, request);
  if (request.mode === 'direct') return connect();
  if (ctx.mutation.mode === 'preview') return connect().catch((cause) => previewLink(ctx, request, cause));
  if (request.resume !== null) {
    const approval = await resumeApproval(ctx, await codeScope(ctx), request.resume, 'connect');
    if (approval.status === 'pending') return pendingResult(ctx, approval.code);
    return connect().catch((cause) => guideInstallation(ctx, request, cause));
  }
  try {
    return await connect();
  } catch (cause) {
    if (!isProblem(cause, 'git_account_required')) return guideInstallation(ctx, request, cause);
  }
  const scope = await codeScope(ctx);
  const { stored, device_code } = await issueCode(ctx, scope, 'connect');
  if (!(await ctx.io.isTerminal('stderr'))) return pendingResult(ctx, stored, { device_code });
  await waitForApproval(ctx, scope, stored, null);
  return connect().catch((cause) => guideInstallation(ctx, request, cause));
}

async function tryConnect(ctx: Ctx, request: AppConnection): Promise<Result> {
  const params = { tenantID: await resolveTenant(ctx), app: request.app };
  const { repo, branch, create, installationId } = request;
  const body = { repo, branch, create, installation_id: installationId };
  const limited = withTimeout(redactDeviceCode(ctx), requestMs);
  const result = await mutate(limited, connectGit, { params, body }, { view: connectionView });
  return printUnchangedNote(ctx, result);
}

/** Without a linked account the repository is unknown, so the preview covers the linking. */
async function previewLink(ctx: Ctx, { repo, resume }: AppConnection, cause: unknown): Promise<Result> {
  if (!isProblem(cause, 'git_account_required')) throw cause;
  ctx.note(
    `Your git host account is not linked. You first approve a code there; then ${sanitize(repo ?? 'the repository')} is connected.`,
  );
  if (resume !== null) return previewApproval(ctx, await codeScope(ctx), resume, 'connect');
  const input = { params: { tenantID: await resolveTenant(ctx) } };
  return mutate(withTimeout(ctx, requestMs), startGitLink, input);
}

async function guideInstallation(ctx: Ctx, request: AppConnection, cause: unknown): Promise<Result> {
  if (!isProblem(cause, 'installation_missing')) throw cause;
  const params = { tenantID: await resolveTenant(ctx), app: request.app };
  const input = { params, body: { repo: request.repo, branch: request.branch } };
  const started = await (await ctx.client()).call(beginGitConnection, input, {
    signal: withTimeout(ctx, requestMs).signal,
    idempotencyKey: crypto.randomUUID(),
  });
  const { install_url, state } = started;
  if (isWebUrl(install_url)) {
    ctx.io.err(`Open ${sanitize(install_url)} and install the git host app for ${repoOwner(request.repo)}\n`);
    if ((await ctx.io.isTerminal('stderr')) && (await ctx.io.openBrowser(install_url)))
      ctx.say('The page opens in your browser.');
  } else ctx.io.err(`Install the git host app for ${repoOwner(request.repo)}\n`);
  ctx.say(`After the installation: ${commandLine(['git-host', 'complete', '--state', sanitize(state)])}`);
  return { value: started, text: () => '', exit: 11 };
}

function repoOwner(repo: string | undefined): string {
  return sanitize(repo?.split('/')[0] ?? 'its owner');
}

function isProblem(cause: unknown, code: ErrorCode): boolean {
  return cause instanceof ProblemError && cause.problem.code === code;
}

export async function linkAccount(ctx: Ctx, { resume }: { resume: ResumeOptions | null }): Promise<Result> {
  const scope = await codeScope(ctx);
  if (resume !== null) {
    const approval = await resumeApproval(ctx, scope, resume, 'link');
    return approval.status === 'linked' ? linkedResult(approval) : pendingResult(ctx, approval.code);
  }
  const { stored, device_code } = await issueCode(ctx, scope, 'link');
  if (!(await ctx.io.isTerminal('stderr'))) return pendingResult(ctx, stored, { device_code });
  return linkedResult(await waitForApproval(ctx, scope, stored, null));
}

export function linkedResult({ account }: Approval & { status: 'linked' }): Result {
  return {
    value: { status: 'linked', account },
    text: () =>
      account === null
        ? 'Your git host account is linked.\n'
        : `Your account ${sanitize(account.login)} at ${sanitize(account.host)} is linked.\n`,
  };
}
