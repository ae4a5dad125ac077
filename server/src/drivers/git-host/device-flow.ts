import { createDeviceCode, exchangeDeviceCode } from '@octokit/oauth-methods';
import type { Octokit } from '@octokit/rest';
import { DeviceCodeAnswer, RefusalAnswer, TokensAnswer } from './answers.ts';
import { answerOf, unavailable } from './ask-host.ts';
import type { DeviceGrant, DevicePoll, UserTokens } from './git-host.ts';

export interface DeviceFlowParts {
  octokit: Octokit;
  /** Where the sign-in of the host is asked, and how people know it: they differ for the built-in one. */
  loginUrl: string;
  webUrl: string;
  clientId: string;
}

/** RFC 8628, as GitHub has it. No secret of a client is needed for it. */
export function createDeviceFlow({ octokit, loginUrl, webUrl, clientId }: DeviceFlowParts) {
  const request = octokit.request.defaults({ baseUrl: loginUrl });
  const client = { clientType: 'github-app', clientId, request } as const;

  return {
    async begin(): Promise<DeviceGrant> {
      const said = await loginAnswer(() => createDeviceCode(client));
      if ('error' in said) throw unavailable(`it refuses to begin (${said.error}).`);
      const parsed = DeviceCodeAnswer.safeParse(said.data);
      if (!parsed.success) throw unavailable('its answer is not that of a device flow.');
      const { device_code, user_code, verification_uri, expires_in, interval } = parsed.data;
      if (!isBelow(verification_uri, webUrl))
        throw unavailable('it sends people to an address that is not its own.');
      return {
        deviceCode: device_code,
        userCode: user_code,
        verificationUri: verification_uri,
        expiresInSeconds: expires_in,
        intervalSeconds: interval,
      };
    },
    async poll(deviceCode: string): Promise<DevicePoll> {
      const said = await loginAnswer(() => exchangeDeviceCode({ ...client, code: deviceCode }));
      if (!('error' in said)) return { status: 'approved', tokens: tokensOf(said.data) };
      switch (said.error) {
        case 'authorization_pending':
          return { status: 'pending' };
        case 'slow_down':
          return { status: 'slow_down', intervalSeconds: said.interval ?? 10 };
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
          throw unavailable(`it refuses the question (${said.error}).`);
      }
    },
    /** Tokens of a device flow are renewed without the secret of the client. */
    async refresh(refreshToken: string): Promise<UserTokens | null> {
      const said = await loginAnswer(() =>
        request('POST /login/oauth/access_token', {
          headers: { accept: 'application/json' },
          client_id: clientId,
          grant_type: 'refresh_token',
          refresh_token: refreshToken,
        }),
      );
      if (!('error' in said)) return tokensOf(said.data);
      if (['bad_refresh_token', 'invalid_grant', 'expired_token'].includes(said.error)) return null;
      throw unavailable(`it refuses to renew a token (${said.error}).`);
    },
  };
}

type Said = { data: unknown } | { error: string; interval: number | undefined };

async function loginAnswer(question: () => Promise<{ data: unknown }>): Promise<Said> {
  let data: unknown;
  try {
    data = (await question()).data;
  } catch (error) {
    const answer = answerOf(error);
    if (!answer) throw unavailable('it can not be reached.');
    if (answer.status >= 500) throw unavailable(`it answers ${answer.status}.`);
    data = answer.data;
    if (!RefusalAnswer.safeParse(data).success)
      throw unavailable(`it answers ${answer.status}, and not as a git host does.`);
  }
  const refusal = RefusalAnswer.safeParse(data);
  if (!refusal.success) return { data };
  // It ends in a sentence of ours: a word, and nothing else.
  const error = /^[a-z_]{1,50}$/.test(refusal.data.error) ? refusal.data.error : 'unknown';
  return { error, interval: refusal.data.interval };
}

/** By our own clock: that of the host may go wrong. */
function tokensOf(data: unknown): UserTokens {
  const parsed = TokensAnswer.safeParse(data);
  if (!parsed.success) throw unavailable('its answer holds no token.');
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

/** Whether people are sent to the host that is configured, and not to a page that only looks like it. */
export function isBelow(address: string, webUrl: string): boolean {
  const [url, web] = [URL.parse(address), new URL(webUrl)];
  if (!url || url.origin !== web.origin || url.username || url.password) return false;
  const folder = web.pathname.replace(/\/?$/, '/');
  return url.pathname.startsWith(folder);
}
