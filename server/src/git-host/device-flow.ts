import { randomBytes } from 'node:crypto';
import { addressGroup } from '../identity/login-attempts.ts';
import { fail } from '../plumbing/problem.ts';
import { createRateLimit } from '../plumbing/rate-limit.ts';
import { readBody } from '../plumbing/read-body.ts';
import type { Handle } from '../plumbing/serve.ts';
import { findUser } from '../users/find-user.ts';
import { insertDeviceCode, pollDeviceCode, redeemDeviceCode } from './device-store.ts';
import type { GitHostParts } from './git-host-parts.ts';
import { issueUserTokens, refreshTokenSeconds, userTokenSeconds } from './issue-user-token.ts';
import { deviceCodePath, devicePath } from './paths.ts';
import { takeToken } from './tokens-store.ts';
import { newUserCode } from './user-code.ts';

const codeSeconds = 900;
const intervalSeconds = 5;
const moreSeconds = 5;
/** Clocks and networks are not exact; a client that waits as told is never slowed down. */
const toleranceSeconds = 1;
const bodyBytesMax = 16 * 1024;
const namesCharsMax = 120;
/** All who link their accounts through the platform come from one address. */
const codesPerMinuteMax = 600;
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

type Fields = ReadonlyMap<string, string>;
type Answer = Record<string, string | number>;

/** RFC 8628 as GitHub has it: a refusal is a 200 with an `error`, and an answer is a form unless JSON is asked for. */
export function createDeviceFlow(parts: GitHostParts): Handle {
  const rateLimit = createRateLimit(parts.now);
  return async (request, url, info) => {
    info.setRoute('git.login');
    if (request.method !== 'POST') throw fail('method_not_allowed', { headers: { allow: 'POST' } });
    const fields = await fieldsOf(request);
    if (url.pathname === deviceCodePath) {
      rateLimit(addressGroup(info.clientAddress), codesPerMinuteMax);
      if (fields.get('client_id') !== parts.app.clientId)
        return answered(request, { error: 'Not Found' }, 404);
      const askedBy = plainText(request.headers.get('user-agent') ?? '');
      return answered(request, await begin(parts, { askedBy, askedFrom: info.clientAddress }));
    }
    return answered(request, await exchange(parts, fields));
  };
}

/** A line that can be shown. */
function plainText(text: string): string {
  return text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, namesCharsMax);
}

async function begin(
  { db, now, app, baseUrl }: GitHostParts,
  { askedBy, askedFrom }: { askedBy: string; askedFrom: string },
): Promise<Answer> {
  const deviceCode = randomBytes(20).toString('hex');
  const userCode = newUserCode();
  const at = now();
  await insertDeviceCode(db, {
    deviceCode,
    userCode,
    client_id: app.clientId,
    asked_by: askedBy,
    asked_from: askedFrom,
    interval_seconds: intervalSeconds,
    created_at: at,
    expires_at: new Date(at.getTime() + codeSeconds * 1000),
  });
  return {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: `${baseUrl}${devicePath}`,
    expires_in: codeSeconds,
    interval: intervalSeconds,
  };
}

async function exchange(parts: GitHostParts, fields: Fields): Promise<Answer> {
  if (fields.get('client_id') !== parts.app.clientId) return refusals.incorrect_client_credentials;
  switch (fields.get('grant_type')) {
    case deviceGrant:
      return poll(parts, fields.get('device_code') ?? '');
    case 'refresh_token':
      return refresh(parts, fields.get('refresh_token') ?? '');
    default:
      return refusals.unsupported_grant_type;
  }
}

async function poll(parts: GitHostParts, deviceCode: string): Promise<Answer> {
  const { db, now, app } = parts;
  const at = now();
  const code = await pollDeviceCode(db, deviceCode, { now: at, toleranceSeconds, moreSeconds });
  if (!code || code.redeemed_at) return refusals.incorrect_device_code;
  if (code.client_id !== app.clientId) return refusals.incorrect_client_credentials;
  if (code.expires_at <= at) return refusals.expired_token;
  if (code.denied_at) return refusals.access_denied;
  if (code.is_early) return { ...refusals.slow_down, interval: code.interval_seconds };
  if (code.approved_by === null) return refusals.authorization_pending;
  const user = await findUser({ db }, { ref: code.approved_by });
  if (user?.status !== 'active') return refusals.access_denied;
  if (!(await redeemDeviceCode(db, code.code_hash, at))) return refusals.incorrect_device_code;
  return tokensFor(parts, user.id);
}

/** The one before is of no use any more; its end is told by the next use of it. */
async function refresh(parts: GitHostParts, refreshToken: string): Promise<Answer> {
  const { db, now } = parts;
  const token = await takeToken(db, refreshToken, 'refresh');
  const user = token?.user_id ? await findUser({ db }, { ref: token.user_id }) : null;
  if (!token || token.expires_at <= now() || user?.status !== 'active') return refusals.bad_refresh_token;
  return tokensFor(parts, user.id);
}

async function tokensFor({ db, now }: GitHostParts, userId: string): Promise<Answer> {
  const { token, refreshToken } = await issueUserTokens(db, { userId, now: now() });
  return {
    access_token: token,
    expires_in: userTokenSeconds,
    refresh_token: refreshToken,
    refresh_token_expires_in: refreshTokenSeconds,
    token_type: 'bearer',
    scope: '',
  };
}

const refusal = (error: string, error_description: string) => ({ error, error_description });
const refusals = {
  authorization_pending: refusal('authorization_pending', 'The code has not been approved yet.'),
  slow_down: refusal('slow_down', 'You ask too often: keep to the interval.'),
  expired_token: refusal('expired_token', 'The code has expired: begin anew.'),
  access_denied: refusal('access_denied', 'The code was denied.'),
  incorrect_device_code: refusal('incorrect_device_code', 'There is no such code, or it was used.'),
  incorrect_client_credentials: refusal('incorrect_client_credentials', 'There is no such client.'),
  unsupported_grant_type: refusal('unsupported_grant_type', 'A device code or a refresh token is needed.'),
  bad_refresh_token: refusal('bad_refresh_token', 'The refresh token is wrong, used, or has expired.'),
} as const;

/** A form or JSON; what is no text in it is not there. */
async function fieldsOf(request: Request): Promise<Fields> {
  const text = new TextDecoder().decode(await readBody(request, { bytesMax: bodyBytesMax }));
  if (!/^application\/json\b/i.test(request.headers.get('content-type') ?? ''))
    return new Map(new URLSearchParams(text));
  try {
    const body: unknown = JSON.parse(text);
    const entries = typeof body === 'object' && body !== null ? Object.entries(body) : [];
    return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
  } catch (cause) {
    throw fail('malformed_json', {}, { cause });
  }
}

function answered(request: Request, body: Answer, status = 200): Response {
  const headers = { 'cache-control': 'no-store' };
  if (/\bapplication\/json\b/i.test(request.headers.get('accept') ?? ''))
    return Response.json(body, { status, headers });
  const form = new URLSearchParams(Object.entries(body).map(([name, value]) => [name, String(value)]));
  const type = 'application/x-www-form-urlencoded; charset=utf-8';
  return new Response(form.toString(), { status, headers: { ...headers, 'content-type': type } });
}
