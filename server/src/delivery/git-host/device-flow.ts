import { randomBytes } from 'node:crypto';
import { fail } from '../../core/problem.ts';
import { addressGroup } from '../../http/client-address.ts';
import type { RequestHandler } from '../../http/handlers.ts';
import { createRateLimit } from '../../http/rate-limit.ts';
import { readBody } from '../../http/read-body.ts';
import { findUser } from '../../people/users/users.ts';
import type { GitHostDeps } from './deps.ts';
import { deviceCodePath, devicePath } from './paths.ts';
import {
  consumeToken,
  insertDeviceCode,
  issueDeviceTokens,
  pollDeviceCode,
  redeemDeviceCode,
  refreshTokenSeconds,
  userTokenSeconds,
} from './tokens.ts';

const codeSeconds = 900;
const intervalSeconds = 5;
const slowDownSeconds = 5;
/** Clients that respect the interval must not be slowed down because of network jitter. */
const toleranceSeconds = 1;
const bodyBytesMax = 16 * 1024;
const userAgentCharsMax = 120;
/** Everybody who links an account through the platform comes from the same address. */
const codesPerMinuteMax = 600;
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

type Fields = ReadonlyMap<string, string>;
type ResponseFields = Record<string, string | number>;

/** RFC 8628 in GitHub's variant: errors have status 200, and responses are form-encoded unless JSON is accepted. */
export function createDeviceFlow(deps: GitHostDeps): RequestHandler {
  const rateLimit = createRateLimit(deps.now);
  return async (request, url, info) => {
    info.setRoute('git.login');
    if (request.method !== 'POST') throw fail('method_not_allowed', { headers: { allow: 'POST' } });
    const fields = await readFields(request);
    if (url.pathname === deviceCodePath) {
      rateLimit(addressGroup(info.clientAddress), codesPerMinuteMax);
      if (fields.get('client_id') !== deps.app.current().clientId)
        return encodeResponse(request, { error: 'Not Found' }, 404);
      const requestedBy = plainText(request.headers.get('user-agent') ?? '');
      return encodeResponse(
        request,
        await startDeviceFlow(deps, { requestedBy, requestedFrom: info.clientAddress }),
      );
    }
    return encodeResponse(request, await exchangeToken(deps, fields));
  };
}

function plainText(text: string): string {
  return text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, userAgentCharsMax);
}

async function startDeviceFlow(
  { db, now, app, baseUrl }: GitHostDeps,
  { requestedBy, requestedFrom }: { requestedBy: string; requestedFrom: string },
): Promise<ResponseFields> {
  const deviceCode = randomBytes(20).toString('hex');
  const userCode = generateUserCode();
  const at = now();
  await insertDeviceCode(db, {
    deviceCode,
    userCode,
    client_id: app.current().clientId,
    asked_by: requestedBy,
    asked_from: requestedFrom,
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

async function exchangeToken(deps: GitHostDeps, fields: Fields): Promise<ResponseFields> {
  if (fields.get('client_id') !== deps.app.current().clientId)
    return oauthError('incorrect_client_credentials');
  switch (fields.get('grant_type')) {
    case deviceGrant:
      return pollToken(deps, fields.get('device_code') ?? '');
    case 'refresh_token':
      return refreshToken(deps, fields.get('refresh_token') ?? '');
    default:
      return oauthError('unsupported_grant_type');
  }
}

async function pollToken(deps: GitHostDeps, deviceCode: string): Promise<ResponseFields> {
  const { db, now } = deps;
  const app = deps.app.current();
  const at = now();
  const code = await pollDeviceCode(db, deviceCode, {
    now: at,
    toleranceSeconds,
    slowDownSeconds,
  });
  if (!code || code.redeemed_at) return oauthError('incorrect_device_code');
  if (code.client_id !== app.clientId) return oauthError('incorrect_client_credentials');
  if (code.expires_at <= at) return oauthError('expired_token');
  if (code.denied_at) return oauthError('access_denied');
  if (code.is_early) return { ...oauthError('slow_down'), interval: code.interval_seconds };
  if (code.approved_by === null) return oauthError('authorization_pending');
  const user = await findUser({ db }, { ref: code.approved_by });
  if (user?.status !== 'active') return oauthError('access_denied');
  if (!(await redeemDeviceCode(db, code.code_hash, at))) return oauthError('incorrect_device_code');
  return tokenResponse(deps, user.id);
}

async function refreshToken(deps: GitHostDeps, refreshToken: string): Promise<ResponseFields> {
  const { db, now } = deps;
  const token = await consumeToken(db, refreshToken, 'refresh');
  const user = token?.user_id ? await findUser({ db }, { ref: token.user_id }) : null;
  if (!token || token.expires_at <= now() || user?.status !== 'active')
    return oauthError('bad_refresh_token');
  return tokenResponse(deps, user.id);
}

async function tokenResponse({ db, now }: GitHostDeps, userId: string): Promise<ResponseFields> {
  const { token, refreshToken } = await issueDeviceTokens(db, { userId, now: now() });
  return {
    access_token: token,
    expires_in: userTokenSeconds,
    refresh_token: refreshToken,
    refresh_token_expires_in: refreshTokenSeconds,
    token_type: 'bearer',
    scope: '',
  };
}

const errorDescriptions = {
  authorization_pending: 'The code has not been approved yet.',
  slow_down: 'Polling too often: respect the interval.',
  expired_token: 'The code has expired: request a new one.',
  access_denied: 'The code was denied.',
  incorrect_device_code: 'The code does not exist or was already used.',
  incorrect_client_credentials: 'Unknown client.',
  unsupported_grant_type: 'The grant type must be device_code or refresh_token.',
  bad_refresh_token: 'The refresh token is invalid, already used or expired.',
} as const;

function oauthError(error: keyof typeof errorDescriptions) {
  return { error, error_description: errorDescriptions[error] };
}

async function readFields(request: Request): Promise<Fields> {
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

function encodeResponse(request: Request, body: ResponseFields, status = 200): Response {
  const headers = { 'cache-control': 'no-store' };
  if (/\bapplication\/json\b/i.test(request.headers.get('accept') ?? ''))
    return Response.json(body, { status, headers });
  const form = new URLSearchParams(Object.entries(body).map(([name, value]) => [name, String(value)]));
  const type = 'application/x-www-form-urlencoded; charset=utf-8';
  return new Response(form.toString(), { status, headers: { ...headers, 'content-type': type } });
}

const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const half = 4;

export function generateUserCode(): string {
  const pick = () => letters.charAt(randomBelow(letters.length));
  const part = () => Array.from({ length: half }, pick).join('');
  return `${part()}-${part()}`;
}

export function parseUserCode(text: string): string | null {
  const plain = text.toUpperCase().replace(/[\s-]/g, '');
  if (plain.length !== half * 2 || ![...plain].every((letter) => letters.includes(letter))) return null;
  return `${plain.slice(0, half)}-${plain.slice(half)}`;
}

function randomBelow(limit: number): number {
  const bytes = new Uint8Array(1);
  // Bytes from there on would make the first letters more likely.
  const fairBelow = 256 - (256 % limit);
  for (;;) {
    const [byte = 255] = crypto.getRandomValues(bytes);
    if (byte < fairBelow) return byte % limit;
  }
}
