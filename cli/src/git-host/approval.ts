import { ProblemError } from '@svc/contract/client.ts';
import type { GitDeviceCode, GitLinkPoll } from '@svc/contract/git-host.shapes.ts';
import { pollGitLink, startGitLink } from '@svc/contract/git-host.ts';
import { getTenant } from '@svc/contract/tenants.ts';
import type { z } from 'zod';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import { passes } from '../passes.ts';
import { resolveTenant } from '../tenant.ts';
import { pause, within } from '../waiting.ts';
import type { Resume } from './approval-flags.ts';
import { chosenCode, intervalSecondsDefault } from './chosen-code.ts';
import { type CodePlace, type CodePurpose, type DeviceCode, forgetCode, keepCode } from './device-cache.ts';
import { resumeLine, showCode } from './show-code.ts';
import { unknownCode } from './unknown-code.ts';

export type IssuedCode = z.output<typeof GitDeviceCode>;
type Polled = z.output<typeof GitLinkPoll>;

export type Approval =
  | { status: 'linked'; account: Polled['account']; code: DeviceCode }
  | { status: 'pending'; code: DeviceCode };

/** RFC 8628 §3.5. */
const slowDownSeconds = 5;
/** Of one request, in commands that may take hours. */
export const requestMs = 60_000;

/** By its id: a tenant that is named by its slug the next time is the same. */
export async function codePlace(ctx: Ctx): Promise<CodePlace> {
  const { configDir, profile, baseUrl, client } = await ctx.session();
  const params = { tenantID: await resolveTenant(ctx) };
  const { id } = await client.call(getTenant, { params }, { signal: within(ctx, requestMs).signal });
  return { configDir, profile, baseUrl, tenant: id };
}

export async function issueCode(
  ctx: Ctx,
  place: CodePlace,
  purpose: CodePurpose,
): Promise<IssuedCode & { kept: DeviceCode }> {
  const input = { params: { tenantID: place.tenant } };
  const signal = within(ctx, requestMs).signal;
  const issued = await (await ctx.client()).call(startGitLink, input, {
    signal,
    idempotencyKey: crypto.randomUUID(),
  });
  return { ...issued, kept: await keepIssued(ctx, place, issued, { purpose, runId: null }) };
}

/** Kept first, then shown: who ends the command at once can go on all the same. */
export async function keepIssued(
  ctx: Ctx,
  place: CodePlace,
  issued: IssuedCode,
  { purpose, runId }: { purpose: CodePurpose; runId: string | null },
): Promise<DeviceCode> {
  const { device_code, user_code, verification_uri, expires_at } = issued;
  const interval_seconds = issued.interval_seconds > 0 ? issued.interval_seconds : intervalSecondsDefault;
  const code = {
    ...{ device_code, user_code, verification_uri, expires_at, interval_seconds, purpose, run_id: runId },
    next_poll_at: later(ctx, interval_seconds),
  };
  await keepCode(ctx, place, code);
  showCode(ctx, code);
  return code;
}

/** Goes on with a code: asks once, as soon as the host lets it, or as long as was said. */
export async function resumeApproval(
  ctx: Ctx,
  place: CodePlace,
  { from, waitMs }: Resume,
  purpose: CodePurpose,
): Promise<Approval> {
  const code = chosenCode(ctx, place, { from, purpose });
  if (waitMs !== null) {
    // Whether one of elsewhere waits for anybody is not known before it was asked about.
    if (code.user_code !== null) showCode(ctx, code);
    return waitForApproval(ctx, place, code, waitMs);
  }
  await untilAskable(ctx, code);
  const approval = await pollOnce(ctx, place, code);
  if (approval.status === 'pending') showCode(ctx, approval.code);
  return approval;
}

/** Asked sooner, the host would not say whether it was approved meanwhile. */
async function untilAskable(ctx: Ctx, code: DeviceCode): Promise<void> {
  const ms = msBeforePoll(ctx, code);
  if (ms === 0) return;
  ctx.say(`The git host takes the next question in ${Math.ceil(ms / 1000)}s; that is waited for.`);
  await pause(ctx, ms).catch((cause: unknown) => {
    const late = `The git host could not be asked within ${ctx.globals.timeoutMs / 1000}s.`;
    throw cause instanceof CliError ? endedWait(ctx, code, { cause, late }) : cause;
  });
}

/** Asks at the host's pace until it is decided; `waitMs` null: for as long as the code counts. */
export async function waitForApproval(
  ctx: Ctx,
  place: CodePlace,
  code: DeviceCode,
  waitMs: number | null,
): Promise<Approval & { status: 'linked' }> {
  const limited = waitMs === null ? ctx : within(ctx, waitMs);
  try {
    return await pollUntilApproved(limited, place, code);
  } catch (cause) {
    if (!(cause instanceof CliError) || !limited.signal.aborted) throw cause;
    const seconds = (ctx.signal.aborted ? ctx.globals.timeoutMs : (waitMs ?? 0)) / 1000;
    throw endedWait(ctx, code, { cause, late: `The code was not approved within ${seconds}s.` });
  }
}

function endedWait(ctx: Ctx, code: DeviceCode, { cause, late }: { cause: CliError; late: string }): CliError {
  const next = `Go on with ${resumeLine(ctx, code)}`;
  return cause.code === 'interrupted'
    ? new CliError('interrupted', 'Interrupted. The code can still be approved.', { next, cause })
    : new CliError('wait_timeout', late, { next, cause });
}

async function pollUntilApproved(
  ctx: Ctx,
  place: CodePlace,
  first: DeviceCode,
): Promise<Approval & { status: 'linked' }> {
  let code = first;
  await pause(ctx, msBeforePoll(ctx, code));
  for (;;) {
    const approval = await pollOnce(ctx, place, code).catch((cause: unknown) => {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      // A server that is away for a moment does not end what a person is busy with.
      if (!passes(cause)) throw cause;
      return null;
    });
    if (approval?.status === 'linked') return approval;
    if (approval !== null && code === first && first.user_code === null) showCode(ctx, approval.code);
    code = approval?.code ?? code;
    await pause(ctx, code.interval_seconds * 1000);
  }
}

/** One question. How long to wait until the next one is kept, for this command and others. */
async function pollOnce(ctx: Ctx, place: CodePlace, code: DeviceCode): Promise<Approval> {
  const input = { params: { tenantID: place.tenant }, body: { device_code: code.device_code } };
  const client = await ctx.client();
  const signal = within(ctx, requestMs).signal;
  const said = await client.call(pollGitLink, input, { signal }).catch((cause: unknown) => {
    if (isFinal(cause)) forgetCode(place, code.device_code);
    throw unknownCode(cause);
  });
  if (said.status === 'linked') {
    forgetCode(place, code.device_code);
    return { status: 'linked', account: said.account, code };
  }
  const slower = said.status === 'slow_down' ? code.interval_seconds + slowDownSeconds : 0;
  const interval_seconds = Math.max(code.interval_seconds, said.interval_seconds, slower);
  const next = { ...code, interval_seconds, next_poll_at: later(ctx, interval_seconds) };
  await keepCode(ctx, place, next);
  return { status: 'pending', code: next };
}

/** It was decided, it is over, or it never was one of ours: nobody needs it again. */
function isFinal(cause: unknown): boolean {
  if (!(cause instanceof ProblemError)) return false;
  return ['device_code_expired', 'access_denied', 'not_found'].includes(cause.problem.code);
}

/** More than the interval can only come from a clock that was set back. */
function msBeforePoll(ctx: Ctx, { next_poll_at, interval_seconds }: DeviceCode): number {
  const ms = Date.parse(next_poll_at) - ctx.io.now().getTime();
  return ms > interval_seconds * 1000 ? 0 : Math.max(0, ms);
}

function later(ctx: Ctx, seconds: number): string {
  return new Date(ctx.io.now().getTime() + seconds * 1000).toISOString();
}
