import { ProblemError } from '@svc/contract/client.ts';
import type { GitDeviceCode, GitLinkPoll } from '@svc/contract/git-host.shapes.ts';
import { pollGitLink, startGitLink } from '@svc/contract/git-host.ts';
import { getTenant } from '@svc/contract/tenants.ts';
import type { z } from 'zod';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { mutate } from '../mutation.ts';
import { AdvisedProblemError } from '../session/problems.ts';
import { resolveTenant } from '../session/tenant.ts';
import { isTransient, pause, withTimeout } from '../session/waiting.ts';
import {
  type CodePurpose,
  type CodeScope,
  type DeviceCode,
  deleteCode,
  readCode,
  storeCode,
} from './code-store.ts';
import type { ResumeOptions } from './flags.ts';
import { redactDeviceCode, resumeLine, showCode } from './show-code.ts';

export type IssuedCode = z.output<typeof GitDeviceCode>;
type Polled = z.output<typeof GitLinkPoll>;

export type Approval =
  | { status: 'linked'; account: Polled['account']; code: DeviceCode }
  | { status: 'pending'; code: DeviceCode };

/** RFC 8628 §3.5. */
const slowDownSeconds = 5;
export const requestMs = 60_000;

/** Uses the tenant's id, so that the stored code is found by slug and id. */
export async function codeScope(ctx: Ctx): Promise<CodeScope> {
  const { configDir, profile, baseUrl, client } = await ctx.session();
  const params = { tenantID: await resolveTenant(ctx) };
  const { id } = await client.call(getTenant, { params }, { signal: withTimeout(ctx, requestMs).signal });
  return { configDir, profile, baseUrl, tenant: id };
}

export async function issueCode(
  ctx: Ctx,
  scope: CodeScope,
  purpose: CodePurpose,
): Promise<IssuedCode & { stored: DeviceCode }> {
  const input = { params: { tenantID: scope.tenant } };
  const signal = withTimeout(ctx, requestMs).signal;
  const issued = await (await ctx.client()).call(startGitLink, input, {
    signal,
    idempotencyKey: crypto.randomUUID(),
  });
  return { ...issued, stored: await storeIssuedCode(ctx, scope, issued, { purpose, runId: null }) };
}

/** Stores the code before it is shown, so that an interrupted command can be resumed. */
export async function storeIssuedCode(
  ctx: Ctx,
  scope: CodeScope,
  issued: IssuedCode,
  { purpose, runId }: { purpose: CodePurpose; runId: string | null },
): Promise<DeviceCode> {
  const { device_code, user_code, verification_uri, expires_at } = issued;
  const interval_seconds = issued.interval_seconds > 0 ? issued.interval_seconds : intervalSecondsDefault;
  const code = {
    device_code,
    user_code,
    verification_uri,
    expires_at,
    interval_seconds,
    purpose,
    run_id: runId,
    next_poll_at: inSeconds(ctx, interval_seconds),
  };
  await storeCode(ctx, scope, code);
  showCode(ctx, code);
  return code;
}

export async function resumeApproval(
  ctx: Ctx,
  scope: CodeScope,
  { from, waitMs }: ResumeOptions,
  purpose: CodePurpose,
): Promise<Approval> {
  const code = findCode(ctx, scope, { from, purpose });
  if (waitMs !== null) {
    // The status of a code from elsewhere is unknown before the first poll.
    if (code.user_code !== null) showCode(ctx, code);
    return waitForApproval(ctx, scope, code, waitMs);
  }
  await waitForNextPoll(ctx, code);
  const approval = await pollOnce(ctx, scope, code);
  if (approval.status === 'pending') showCode(ctx, approval.code);
  return approval;
}

/** The git host rejects polls before the interval has passed. */
async function waitForNextPoll(ctx: Ctx, code: DeviceCode): Promise<void> {
  const ms = msBeforePoll(ctx, code);
  if (ms === 0) return;
  ctx.say(`Waiting ${Math.ceil(ms / 1000)}s for the polling interval of the git host.`);
  await pause(ctx, ms).catch((cause: unknown) => {
    const late = `The polling interval exceeds the time limit of ${ctx.globals.timeoutMs / 1000}s.`;
    throw cause instanceof CliError ? approvalWaitError(ctx, code, { cause, late }) : cause;
  });
}

export async function waitForApproval(
  ctx: Ctx,
  scope: CodeScope,
  code: DeviceCode,
  waitMs: number | null,
): Promise<Approval & { status: 'linked' }> {
  const limited = waitMs === null ? ctx : withTimeout(ctx, waitMs);
  try {
    return await pollUntilApproved(limited, scope, code);
  } catch (cause) {
    if (!(cause instanceof CliError) || !limited.signal.aborted) throw cause;
    const seconds = (ctx.signal.aborted ? ctx.globals.timeoutMs : (waitMs ?? 0)) / 1000;
    throw approvalWaitError(ctx, code, { cause, late: `The code was not approved within ${seconds}s.` });
  }
}

function approvalWaitError(
  ctx: Ctx,
  code: DeviceCode,
  { cause, late }: { cause: CliError; late: string },
): CliError {
  const next = `Resume with ${resumeLine(ctx, code)}`;
  return cause.code === 'interrupted'
    ? new CliError('interrupted', 'Interrupted. The code can still be approved.', { next, cause })
    : new CliError('wait_timeout', late, { next, cause });
}

async function pollUntilApproved(
  ctx: Ctx,
  scope: CodeScope,
  first: DeviceCode,
): Promise<Approval & { status: 'linked' }> {
  let code = first;
  await pause(ctx, msBeforePoll(ctx, code));
  for (;;) {
    const approval = await pollOnce(ctx, scope, code).catch((cause: unknown) => {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      // A short outage of the server must not end the approval.
      if (!isTransient(cause)) throw cause;
      return null;
    });
    if (approval?.status === 'linked') return approval;
    if (approval !== null && code === first && first.user_code === null) showCode(ctx, approval.code);
    code = approval?.code ?? code;
    await pause(ctx, code.interval_seconds * 1000);
  }
}

async function pollOnce(ctx: Ctx, scope: CodeScope, code: DeviceCode): Promise<Approval> {
  const input = { params: { tenantID: scope.tenant }, body: { device_code: code.device_code } };
  const client = await ctx.client();
  const signal = withTimeout(ctx, requestMs).signal;
  const answer = await client.call(pollGitLink, input, { signal }).catch((cause: unknown) => {
    if (isFinal(cause)) deleteCode(scope, code.device_code);
    throw adviseUnknownCode(cause);
  });
  if (answer.status === 'linked') {
    deleteCode(scope, code.device_code);
    return { status: 'linked', account: answer.account, code };
  }
  const slower = answer.status === 'slow_down' ? code.interval_seconds + slowDownSeconds : 0;
  const interval_seconds = Math.max(code.interval_seconds, answer.interval_seconds, slower);
  const next = { ...code, interval_seconds, next_poll_at: inSeconds(ctx, interval_seconds) };
  await storeCode(ctx, scope, next);
  return { status: 'pending', code: next };
}

function isFinal(cause: unknown): boolean {
  if (!(cause instanceof ProblemError)) return false;
  return ['device_code_expired', 'access_denied', 'not_found'].includes(cause.problem.code);
}

/** A remaining wait longer than the interval means that the system clock was set back. */
function msBeforePoll(ctx: Ctx, { next_poll_at, interval_seconds }: DeviceCode): number {
  const ms = Date.parse(next_poll_at) - ctx.io.now().getTime();
  return ms > interval_seconds * 1000 ? 0 : Math.max(0, ms);
}

function inSeconds(ctx: Ctx, seconds: number): string {
  return new Date(ctx.io.now().getTime() + seconds * 1000).toISOString();
}

export function previewApproval(
  ctx: Ctx,
  scope: CodeScope,
  { from }: ResumeOptions,
  purpose: CodePurpose,
): Promise<Result> {
  const { device_code } = findCode(ctx, scope, { from, purpose });
  const input = { params: { tenantID: scope.tenant }, body: { device_code } };
  return mutate(withTimeout(redactDeviceCode(ctx), requestMs), pollGitLink, input).catch((cause: unknown) => {
    throw adviseUnknownCode(cause);
  });
}

/** RFC 8628 §3.2. */
const intervalSecondsDefault = 5;

function findCode(
  ctx: Ctx,
  scope: CodeScope,
  { from, purpose }: Pick<ResumeOptions, 'from'> & { purpose: CodePurpose },
): DeviceCode {
  const stored = readCode(ctx, scope);
  if (from === 'last') {
    if (stored !== null) return stored;
    throw new CliError('no_device_code', `No code is stored for profile ${scope.profile} in this tenant.`, {
      next: 'Run the command without --resume-last for a new code.',
    });
  }
  if (stored?.device_code === from.deviceCode) return stored;
  return {
    device_code: from.deviceCode,
    user_code: null,
    verification_uri: null,
    expires_at: null,
    interval_seconds: intervalSecondsDefault,
    next_poll_at: ctx.io.now().toISOString(),
    purpose,
    run_id: null,
  };
}

/** `not_found` of a poll means the code, not the subject of the command. */
function adviseUnknownCode(cause: unknown): unknown {
  if (!(cause instanceof ProblemError) || cause.problem.code !== 'not_found') return cause;
  const next =
    'Check svc git-host accounts list for an existing link, or run the command without --device-code and --resume-last for a new code.';
  return new AdvisedProblemError(cause.problem, next);
}
