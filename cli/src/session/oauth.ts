import { cliClientId } from '@svc/contract/identity.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { isSameServer } from './profile.ts';
import { loginCommand, request } from './request.ts';
import { pause, withWaitTimeout } from './waiting.ts';

export const loginScope = 'openid offline_access';

export interface Tokens {
  access_token: string;
  refresh_token?: string;
  expires_in: number;
}

/** Endpoints of the server's OpenID provider. They receive secrets, so each must be on the server itself. */
export async function discover(ctx: Ctx, baseUrl: string): Promise<(name: string) => string> {
  const url = `${baseUrl}/oauth/.well-known/openid-configuration`;
  const response = await request(ctx, url, { headers: { accept: 'application/json' } });
  const document = await readJson(url, response);
  if (!response.ok) throw unexpectedAnswerError(url, response.status);
  return (name) => {
    const endpoint = document[name];
    if (typeof endpoint !== 'string') throw new CliError('sign_in_failed', `${baseUrl} has no ${name}.`);
    return requireSameServer(endpoint, baseUrl);
  };
}

function requireSameServer(url: string, baseUrl: string): string {
  if (isSameServer(url, baseUrl)) return url;
  throw new CliError('sign_in_failed', `${baseUrl} names another server for the sign-in: ${url}.`, {
    next: 'Check SVC_BASE_URL; if it is correct, inform the operator.',
  });
}

type OAuthAnswer = { ok: true; body: Record<string, unknown> } | { ok: false; error: string; detail: string };

export async function postForm(ctx: Ctx, url: string, fields: Record<string, string>): Promise<OAuthAnswer> {
  const response = await request(ctx, url, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ client_id: cliClientId, ...fields }).toString(),
  });
  const body = await readJson(url, response);
  if (response.ok) return { ok: true, body };
  if (typeof body.error !== 'string') throw unexpectedAnswerError(url, response.status);
  const detail = typeof body.error_description === 'string' ? body.error_description : body.error;
  return { ok: false, error: body.error, detail };
}

export function parseTokens(body: Record<string, unknown>): Tokens {
  const { access_token, refresh_token, expires_in } = body;
  if (typeof access_token !== 'string' || typeof expires_in !== 'number') {
    throw new CliError('sign_in_failed', 'The server returned no token for the sign-in.');
  }
  return { access_token, expires_in, ...(typeof refresh_token === 'string' && { refresh_token }) };
}

async function readJson(url: string, response: Response): Promise<Record<string, unknown>> {
  const text = await response.text();
  if (text === '') return {};
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null) return body as Record<string, unknown>;
  } catch {
    // Falls through: the answer of a proxy or another program.
  }
  throw unexpectedAnswerError(url, response.status);
}

function unexpectedAnswerError(url: string, status: number): CliError {
  return new CliError(
    status >= 500 ? 'bad_gateway' : 'not_this_service',
    `Unexpected answer with status ${status} from ${url}.`,
    {
      next: 'Check SVC_BASE_URL and any proxy between svc and the server.',
    },
  );
}

const intervalSecondsDefault = 5;
/** RFC 8628 §3.5: each `slow_down` adds five seconds for good. */
const slowDownSeconds = 5;

export async function deviceFlow(ctx: Ctx, baseUrl: string, options: { browser: boolean }): Promise<Tokens> {
  const endpoint = await discover(ctx, baseUrl);
  const tokenUrl = endpoint('token_endpoint');
  const started = await postForm(ctx, endpoint('device_authorization_endpoint'), { scope: loginScope });
  if (!started.ok)
    throw new CliError('sign_in_failed', `The sign-in could not be started: ${started.detail}.`);
  const device = parseDevice(started.body, baseUrl);
  await showDeviceCode(ctx, device, options);
  try {
    return await withWaitTimeout(ctx, 'The sign-in', () => poll(ctx, tokenUrl, device));
  } catch (cause) {
    if (!(cause instanceof CliError) || cause.code !== 'interrupted') throw cause;
    const next = `${retryAdvice(ctx)} It shows a new code.`;
    throw new CliError('interrupted', 'Interrupted before the sign-in was complete.', { next, cause });
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

function parseDevice(body: Record<string, unknown>, baseUrl: string): Device {
  const { device_code, user_code, verification_uri, verification_uri_complete, interval, expires_in } = body;
  if (
    typeof device_code !== 'string' ||
    typeof user_code !== 'string' ||
    typeof verification_uri !== 'string'
  ) {
    throw new CliError('sign_in_failed', 'The server returned no code for the sign-in.');
  }
  const verificationUrl = requireSameServer(verification_uri, baseUrl);
  return {
    deviceCode: device_code,
    userCode: user_code,
    verificationUrl,
    completeUrl:
      typeof verification_uri_complete === 'string'
        ? requireSameServer(verification_uri_complete, baseUrl)
        : verificationUrl,
    intervalMs: (typeof interval === 'number' && interval > 0 ? interval : intervalSecondsDefault) * 1000,
    expiresInMs: (typeof expires_in === 'number' ? expires_in : 600) * 1000,
  };
}

async function showDeviceCode(ctx: Ctx, device: Device, options: { browser: boolean }): Promise<void> {
  const { verificationUrl, completeUrl, userCode, expiresInMs } = device;
  // A URL that contains the code shows it for comparison.
  const what = completeUrl === verificationUrl ? 'enter' : 'confirm';
  const minutes = Math.max(1, Math.floor(expiresInMs / 60_000));
  const time = `${minutes} minute${minutes === 1 ? '' : 's'}`;
  ctx.io.err(`Open ${completeUrl} and ${what} the code ${userCode}; it expires in ${time}.\n`);
  if (!options.browser || !(await ctx.io.isTerminal('stderr'))) return;
  if (await ctx.io.openBrowser(device.completeUrl)) ctx.say('The page opens in your browser.');
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
    const answer = await postForm(ctx, tokenUrl, fields).catch(ignoreTransientError);
    if (answer === null) {
      // RFC 8628 §3.5: after a failed connection poll less often.
      intervalMs = Math.min(intervalMs * 2, 60_000);
      continue;
    }
    if (answer.ok) return parseTokens(answer.body);
    if (answer.error === 'slow_down') intervalMs += slowDownSeconds * 1000;
    else if (answer.error !== 'authorization_pending') throw signInError(ctx, answer.error, answer.detail);
  }
  throw signInError(ctx, 'expired_token', 'the code has expired');
}

/** A short outage of the server must not end the sign-in. */
function ignoreTransientError(cause: unknown): null {
  if (cause instanceof CliError && (cause.code === 'no_connection' || cause.code === 'bad_gateway'))
    return null;
  throw cause;
}

function signInError(ctx: Ctx, error: string, detail: string): CliError {
  const next = retryAdvice(ctx);
  if (error === 'access_denied')
    return new CliError('access_denied', 'The sign-in was denied in the browser.', {
      next: `${next} Confirm the code as the user that this terminal should act as.`,
    });
  if (error === 'expired_token')
    return new CliError('wait_timeout', 'The code expired before the sign-in was complete.', { next });
  return new CliError('sign_in_failed', `The sign-in failed: ${detail} (${error}).`, { next });
}

function retryAdvice(ctx: Ctx): string {
  return `Run ${loginCommand(ctx.globals.profile)} again.`;
}
