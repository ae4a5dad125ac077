import type { Ctx } from './context.ts';
import { CliError, loginLine } from './errors.ts';
import { asTokens, discover, loginScope, postForm, type Tokens, trusted } from './oauth.ts';
import { pause, waiting } from './waiting.ts';

const intervalSecondsDefault = 5;
/** RFC 8628 §3.5: each `slow_down` adds five seconds for good. */
const slowDownSeconds = 5;

/** Signs in on another device, or in a browser here: RFC 8628. */
export async function deviceFlow(ctx: Ctx, baseUrl: string, options: { browser: boolean }): Promise<Tokens> {
  const endpoint = await discover(ctx, baseUrl);
  const tokenUrl = endpoint('token_endpoint');
  const started = await postForm(ctx, endpoint('device_authorization_endpoint'), { scope: loginScope });
  if (!started.ok) throw new CliError('sign_in_failed', `The sign-in could not start: ${started.detail}.`);
  const device = asDevice(started.body, baseUrl);
  await show(ctx, device, options);
  try {
    return await waiting(ctx, 'The sign-in', () => poll(ctx, tokenUrl, device));
  } catch (cause) {
    if (!(cause instanceof CliError) || cause.code !== 'interrupted') throw cause;
    const next = `${again(ctx)} It shows a new code.`;
    throw new CliError('interrupted', 'Interrupted before anybody signed in.', { next, cause });
  }
}

interface Device {
  deviceCode: string;
  userCode: string;
  verificationUrl: string;
  completeUrl: string;
  intervalMs: number;
  expiresInMs: number;
}

function asDevice(body: Record<string, unknown>, baseUrl: string): Device {
  const { device_code, user_code, verification_uri, verification_uri_complete, interval, expires_in } = body;
  if (
    typeof device_code !== 'string' ||
    typeof user_code !== 'string' ||
    typeof verification_uri !== 'string'
  ) {
    throw new CliError('sign_in_failed', 'The server answered the sign-in without a code.');
  }
  const verificationUrl = trusted(verification_uri, baseUrl);
  return {
    deviceCode: device_code,
    userCode: user_code,
    verificationUrl,
    completeUrl:
      typeof verification_uri_complete === 'string'
        ? trusted(verification_uri_complete, baseUrl)
        : verificationUrl,
    intervalMs: (typeof interval === 'number' && interval > 0 ? interval : intervalSecondsDefault) * 1000,
    expiresInMs: (typeof expires_in === 'number' ? expires_in : 600) * 1000,
  };
}

/** Even with --quiet: nobody can sign in without these. */
async function show(ctx: Ctx, device: Device, options: { browser: boolean }): Promise<void> {
  const { verificationUrl, completeUrl, userCode, expiresInMs } = device;
  // Where the address holds the code, it is there to be compared.
  const what = completeUrl === verificationUrl ? 'enter' : 'confirm';
  const minutes = Math.max(1, Math.floor(expiresInMs / 60_000));
  const time = `${minutes} minute${minutes === 1 ? '' : 's'}`;
  ctx.io.err(`Open ${completeUrl} and ${what} the code ${userCode}; it is good for ${time}.\n`);
  if (!options.browser || !(await ctx.io.isTerminal('stderr'))) return;
  if (await ctx.io.openBrowser(device.completeUrl)) ctx.say('Your browser should show that page now.');
}

async function poll(ctx: Ctx, tokenUrl: string, device: Device): Promise<Tokens> {
  const fields = {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: device.deviceCode,
  };
  const deadline = performance.now() + device.expiresInMs;
  let { intervalMs } = device;
  while (performance.now() < deadline) {
    await pause(ctx, intervalMs);
    const answer = await postForm(ctx, tokenUrl, fields).catch(passing);
    if (answer === null) {
      // RFC 8628 §3.5: after a failed connection poll less often.
      intervalMs = Math.min(intervalMs * 2, 60_000);
      continue;
    }
    if (answer.ok) return asTokens(answer.body);
    if (answer.error === 'slow_down') intervalMs += slowDownSeconds * 1000;
    else if (answer.error !== 'authorization_pending') throw refused(ctx, answer.error, answer.detail);
  }
  throw refused(ctx, 'expired_token', 'the code has expired');
}

/** A server that is away for a moment does not end a sign-in that a person is busy with. */
function passing(cause: unknown): null {
  if (cause instanceof CliError && (cause.code === 'no_connection' || cause.code === 'bad_gateway'))
    return null;
  throw cause;
}

function refused(ctx: Ctx, error: string, detail: string): CliError {
  const next = again(ctx);
  if (error === 'access_denied')
    return new CliError('access_denied', 'The sign-in was refused in the browser.', {
      next: `${next} Confirm the code this time, signed in as whom this terminal is to act.`,
    });
  if (error === 'expired_token')
    return new CliError('wait_timeout', 'The code expired before anybody signed in.', { next });
  return new CliError('sign_in_failed', `The sign-in failed: ${detail} (${error}).`, { next });
}

function again(ctx: Ctx): string {
  return `Run ${loginLine(ctx.globals.profile)} again.`;
}
