import { ProblemError } from '@svc/contract/client.ts';
import type { ErrorCode } from '@svc/contract/error-codes.ts';
import { beginGitConnection, connectGit } from '@svc/contract/git-connections.ts';
import { startGitLink } from '@svc/contract/git-host.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { mutate } from '../mutation.ts';
import { plain } from '../output.ts';
import { commandLine } from '../quote.ts';
import { resolveTenant } from '../tenant.ts';
import { connectionView } from '../views/git.ts';
import { within } from '../waiting.ts';
import { codePlace, issueCode, requestMs, resumeApproval, waitForApproval } from './approval.ts';
import type { Resume } from './approval-flags.ts';
import { noteUnchanged } from './note-unchanged.ts';
import { previewApproval } from './preview-approval.ts';
import { isWebAddress, pendingResult, withoutCode } from './show-code.ts';

export interface AppConnection {
  app: string;
  repo: string;
  branch: string;
  installationId: number | undefined;
  /** `direct`: no person is asked to do anything in a browser. */
  mode: 'direct' | 'guided';
  resume: Resume | null;
}

/** Connects, and where that takes a person at the git host first, leads them there. */
export async function connectApp(ctx: Ctx, wish: AppConnection): Promise<Result> {
  const connect = () => tryConnect(ctx, wish);
  if (wish.mode === 'direct') return connect();
  if (ctx.mutation.mode === 'preview') return connect().catch((cause) => previewLink(ctx, wish, cause));
  if (wish.resume !== null) {
    const approval = await resumeApproval(ctx, await codePlace(ctx), wish.resume, 'connect');
    if (approval.status === 'pending') return pendingResult(ctx, approval.code);
    return connect().catch((cause) => afterMissingInstallation(ctx, wish, cause));
  }
  try {
    return await connect();
  } catch (cause) {
    if (!isProblem(cause, 'git_account_required')) return afterMissingInstallation(ctx, wish, cause);
  }
  const place = await codePlace(ctx);
  const { kept, device_code } = await issueCode(ctx, place, 'connect');
  if (!(await ctx.io.isTerminal('stderr'))) return pendingResult(ctx, kept, { device_code });
  await waitForApproval(ctx, place, kept, null);
  return connect().catch((cause) => afterMissingInstallation(ctx, wish, cause));
}

async function tryConnect(ctx: Ctx, wish: AppConnection): Promise<Result> {
  const params = { tenantID: await resolveTenant(ctx), app: wish.app };
  const body = { repo: wish.repo, branch: wish.branch, installation_id: wish.installationId };
  const limited = within(withoutCode(ctx), requestMs);
  const made = await mutate(limited, connectGit, { params, body }, { view: connectionView });
  return noteUnchanged(ctx, made);
}

/** What can be connected the git host tells nobody whose account is not linked: that comes first, and is what is planned. */
async function previewLink(ctx: Ctx, { repo, resume }: AppConnection, cause: unknown): Promise<Result> {
  if (!isProblem(cause, 'git_account_required')) throw cause;
  ctx.note(
    `Your account at the git host is not linked. That comes first, by a code that you approve there; then ${plain(repo)} is connected.`,
  );
  if (resume !== null) return previewApproval(ctx, await codePlace(ctx), resume, 'connect');
  const input = { params: { tenantID: await resolveTenant(ctx) } };
  return mutate(within(ctx, requestMs), startGitLink, input);
}

/** The app of the git host is installed by a person, in a browser; a state says afterwards what it was for. */
async function afterMissingInstallation(ctx: Ctx, wish: AppConnection, cause: unknown): Promise<Result> {
  if (!isProblem(cause, 'installation_missing')) throw cause;
  const params = { tenantID: await resolveTenant(ctx), app: wish.app };
  const input = { params, body: { repo: wish.repo, branch: wish.branch } };
  const begun = await (await ctx.client()).call(beginGitConnection, input, {
    ...{ signal: within(ctx, requestMs).signal, idempotencyKey: crypto.randomUUID() },
  });
  const { install_url, state } = begun;
  if (isWebAddress(install_url)) {
    ctx.io.err(`Open ${plain(install_url)} and install the app of the git host for ${ownerOf(wish.repo)}\n`);
    if ((await ctx.io.isTerminal('stderr')) && (await ctx.io.openBrowser(install_url)))
      ctx.say('Your browser should show that page now.');
  } else ctx.io.err(`Install the app of the git host for ${ownerOf(wish.repo)}\n`);
  ctx.say(`When it is installed: ${commandLine(['git-host', 'complete', '--state', plain(state)])}`);
  return { value: begun, text: () => '', exit: 11 };
}

function ownerOf(repo: string): string {
  return plain(repo.split('/')[0] ?? '');
}

function isProblem(cause: unknown, code: ErrorCode): boolean {
  return cause instanceof ProblemError && cause.problem.code === code;
}
