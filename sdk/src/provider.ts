import { responseError, SvcNetworkError } from './errors.ts';
import type { User } from './sign-in.ts';
import { limitTime, timeoutMsDefault } from './time-limits.ts';

export class SignInError extends Error {
  readonly code: string;

  constructor(code: string, detail: string) {
    super(detail);
    this.name = 'SignInError';
    this.code = code;
  }
}

export interface Tokens {
  accessToken: string;
  refreshToken: string;
  expiresAt: number;
}

interface TokenAnswer {
  access_token: string;
  refresh_token: string;
  expires_in: number;
  id_token?: string;
}

export function createProvider(options: {
  baseUrl: string;
  appId: string;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  timeoutMs?: number | undefined;
}) {
  const { timeoutMs = timeoutMsDefault } = options;
  const issuer = `${options.baseUrl}/oauth`;

  async function send(path: string, init: RequestInit): Promise<{ response: Response; text: string }> {
    try {
      const signal = limitTime(timeoutMs);
      const response = await options.fetch(issuer + path, { ...init, signal, credentials: 'omit' });
      return { response, text: await response.text() };
    } catch (cause) {
      throw new SvcNetworkError('The sign-in could not be reached.', { cause });
    }
  }

  async function post(path: string, fields: Record<string, string>): Promise<string> {
    const body = new URLSearchParams({ client_id: options.appId, ...fields });
    const { response, text } = await send(path, { method: 'POST', body });
    if (response.ok) return text;
    const refusal = response.status < 500 ? refusalIn(text) : null;
    if (refusal) throw new SignInError(refusal.error, refusal.error_description ?? refusal.error);
    throw responseError(response, text);
  }

  return {
    issuer,

    signInUrl(request: {
      state: string;
      nonce: string;
      challenge: string;
      redirectUri: string;
      loginHint?: string | undefined;
    }): string {
      const query = new URLSearchParams({
        client_id: options.appId,
        response_type: 'code',
        scope: 'openid email profile offline_access',
        redirect_uri: request.redirectUri,
        state: request.state,
        nonce: request.nonce,
        code_challenge: request.challenge,
        code_challenge_method: 'S256',
        ...(request.loginHint === undefined ? {} : { login_hint: request.loginHint }),
      });
      return `${issuer}/auth?${query}`;
    },

    /**
     * The ID token comes directly from the platform over TLS, so its signature needs no check (OpenID Connect Core
     * §3.1.3.7).
     */
    async redeem(request: { code: string; verifier: string; redirectUri: string; nonce: string }) {
      const text = await post('/token', {
        grant_type: 'authorization_code',
        code: request.code,
        code_verifier: request.verifier,
        redirect_uri: request.redirectUri,
      });
      const answer: TokenAnswer = JSON.parse(text);
      const claims = claimsOf(answer.id_token ?? '');
      if (claims.iss !== issuer || claims.aud !== options.appId || claims.nonce !== request.nonce)
        throw new SignInError('identity_mismatch', 'The identity was not made for this sign-in.');
      return { tokens: tokensOf(answer), subject: String(claims.sub) };
    },

    async renew(refreshToken: string): Promise<Tokens> {
      const ask = () => post('/token', { grant_type: 'refresh_token', refresh_token: refreshToken });
      // The platform accepts a refresh token again for a moment, in case its response was lost.
      const text = await ask().catch((error: unknown) => {
        if (error instanceof SvcNetworkError) return ask();
        throw error;
      });
      return tokensOf(JSON.parse(text));
    },

    async revoke(refreshToken: string): Promise<void> {
      await post('/token/revocation', { token: refreshToken, token_type_hint: 'refresh_token' });
    },

    async userOf(accessToken: string): Promise<User> {
      const { response, text } = await send('/me', { headers: { authorization: `Bearer ${accessToken}` } });
      if (!response.ok) throw responseError(response, text);
      const { sub, email, name } = JSON.parse(text);
      return { id: sub, email, name };
    },
  };
}

function tokensOf({ access_token, refresh_token, expires_in }: TokenAnswer): Tokens {
  const expiresAt = Date.now() + expires_in * 1000;
  return { accessToken: access_token, refreshToken: refresh_token, expiresAt };
}

function claimsOf(idToken: string): Record<string, unknown> {
  const payload = (idToken.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
  const bytes = Uint8Array.from(atob(payload), (char) => char.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes) || '{}');
}

function refusalIn(text: string): { error: string; error_description?: string } | null {
  try {
    const body = JSON.parse(text);
    return typeof body?.error === 'string' ? body : null;
  } catch {
    return null;
  }
}
