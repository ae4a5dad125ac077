import { environment } from './environment.ts';
import { responseError, SvcNetworkError } from './errors.ts';
import { limitTime, timeoutMsDefault } from './time-limits.ts';

/** Renewed before the server refuses it. */
const renewBeforeMs = 5 * 60_000;

interface AppTokenOptions {
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  now?: () => number;
  timeoutMs?: number;
}

/**
 * The token with which the app acts as itself on a server of the platform. The platform gives every instance a first one
 * (`SVC_APP_TOKEN`) and a URL for the next ones (`SVC_APP_TOKEN_URL`); commands get the token alone. Null outside of the
 * platform.
 */
export function createAppToken(options: AppTokenOptions = {}) {
  const { SVC_APP_TOKEN: first, SVC_APP_TOKEN_URL: url } = environment();
  if (!first) return null;
  const { fetch: ask = (target, init) => fetch(target, init), now = Date.now } = options;
  const { timeoutMs = timeoutMsDefault } = options;
  // When the first token was issued is unknown: it may be older than this process. The server says when it has expired.
  let current = { token: first, renewAt: Number.POSITIVE_INFINITY };
  let renewing: Promise<void> | null = null;

  async function post(): Promise<{ response: Response; text: string }> {
    const response = await ask(url ?? '', { method: 'POST', signal: limitTime(timeoutMs) });
    return { response, text: await response.text() };
  }

  async function renew(): Promise<void> {
    const { response, text } = await post().catch((cause: unknown) => {
      throw new SvcNetworkError('The token of the app could not be renewed.', { cause });
    });
    if (!response.ok) throw responseError(response, text);
    const { access_token, expires_in } = JSON.parse(text) as {
      access_token: string;
      expires_in: number;
    };
    const lifeMs = expires_in * 1000;
    current = { token: access_token, renewAt: now() + lifeMs - Math.min(renewBeforeMs, lifeMs / 2) };
  }

  return {
    /** `insteadOf`: a token that the server has refused. */
    async getToken({ insteadOf }: { insteadOf?: string } = {}): Promise<string> {
      if (url && (current.token === insteadOf || now() >= current.renewAt)) {
        renewing ??= renew().finally(() => {
          renewing = null;
        });
        await renewing;
      }
      return current.token;
    },
  };
}
