import { createDeviceCode, exchangeDeviceCode } from '@octokit/oauth-methods';
import type { Octokit } from '@octokit/rest';
import type { DeviceGrant, DevicePoll, UserTokens } from './git-host.ts';
import {
  DeviceCodeResponse,
  errorResponse,
  LoginErrorResponse,
  TokensResponse,
  unavailableError,
} from './github-api.ts';

interface DeviceFlowOptions {
  octokit: Octokit;
  loginUrl: string;
  webUrl: string;
  clientId: string;
}

/** RFC 8628 as implemented by GitHub. Needs no client secret. */
export function createDeviceFlow({ octokit, loginUrl, webUrl, clientId }: DeviceFlowOptions) {
  const request = octokit.request.defaults({ baseUrl: loginUrl });
  const client = { clientType: 'github-app', clientId, request } as const;

  return {
    async begin(): Promise<DeviceGrant> {
      const result = await callLogin(() => createDeviceCode(client));
      if ('error' in result) throw unavailableError(`the device flow failed (${result.error}).`);
      const parsed = DeviceCodeResponse.safeParse(result.data);
      if (!parsed.success) throw unavailableError('unexpected response of the device flow.');
      const { device_code, user_code, verification_uri, expires_in, interval } = parsed.data;
      if (!isUrlBelow(verification_uri, webUrl))
        throw unavailableError('its verification URL is on another host.');
      return {
        deviceCode: device_code,
        userCode: user_code,
        verificationUri: verification_uri,
        expiresInSeconds: expires_in,
        intervalSeconds: interval,
      };
    },
    async poll(deviceCode: string): Promise<DevicePoll> {
      const result = await callLogin(() => exchangeDeviceCode({ ...client, code: deviceCode }));
      if (!('error' in result)) return { status: 'approved', tokens: parseTokens(result.data) };
      switch (result.error) {
        case 'authorization_pending':
          return { status: 'pending' };
        case 'slow_down':
          return { status: 'slow_down', intervalSeconds: result.interval ?? 10 };
        case 'expired_token':
        case 'token_expired':
          return { status: 'expired' };
        case 'access_denied':
          return { status: 'denied' };
        case 'incorrect_device_code':
        case 'bad_verification_code':
        case 'invalid_grant':
          return { status: 'unknown' };
        default:
          throw unavailableError(`the device flow failed (${result.error}).`);
      }
    },
    async refresh(refreshToken: string): Promise<UserTokens | null> {
      const result = await callLogin(() =>
        request('POST /login/oauth/access_token', {
          headers: { accept: 'application/json' },
          client_id: clientId,
          grant_type: 'refresh_token',
          refresh_token: refreshToken,
        }),
      );
      if (!('error' in result)) return parseTokens(result.data);
      if (['bad_refresh_token', 'invalid_grant', 'expired_token'].includes(result.error)) return null;
      throw unavailableError(`the token could not be renewed (${result.error}).`);
    },
  };
}

type LoginResult = { data: unknown } | { error: string; interval: number | undefined };

async function callLogin(question: () => Promise<{ data: unknown }>): Promise<LoginResult> {
  let data: unknown;
  try {
    data = (await question()).data;
  } catch (error) {
    const answer = errorResponse(error);
    if (!answer) throw unavailableError('no connection.');
    if (answer.status >= 500) throw unavailableError(`status ${answer.status}.`);
    data = answer.data;
    if (!LoginErrorResponse.safeParse(data).success)
      throw unavailableError(`status ${answer.status} with an unexpected body.`);
  }
  const failure = LoginErrorResponse.safeParse(data);
  if (!failure.success) return { data };
  // The code becomes a part of an error message, so it must be a single word.
  const error = /^[a-z_]{1,50}$/.test(failure.data.error) ? failure.data.error : 'unknown';
  return { error, interval: failure.data.interval };
}

function parseTokens(data: unknown): UserTokens {
  const parsed = TokensResponse.safeParse(data);
  if (!parsed.success) throw unavailableError('the response has no token.');
  const { access_token, expires_in, refresh_token, refresh_token_expires_in } = parsed.data;
  const after = (seconds: number | undefined) =>
    seconds === undefined ? null : new Date(Date.now() + seconds * 1000);
  return {
    token: access_token,
    expiresAt: after(expires_in),
    refreshToken: refresh_token ?? null,
    refreshExpiresAt: after(refresh_token_expires_in),
  };
}

/** Protects users from being sent to another host. */
export function isUrlBelow(address: string, webUrl: string): boolean {
  const [url, web] = [URL.parse(address), new URL(webUrl)];
  if (!url || url.origin !== web.origin || url.username || url.password) return false;
  const folder = web.pathname.replace(/\/?$/, '/');
  return url.pathname.startsWith(folder);
}
