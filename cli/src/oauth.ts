import { cliClientId } from '@svc/contract/identity.ts';
import type { Ctx } from './context.ts';
import { CliError } from './errors.ts';
import { request } from './io.ts';
import { sameServer } from './profile.ts';

export const loginScope = 'openid offline_access';

export interface Tokens {
  access_token: string;
  refresh_token?: string;
  expires_in: number;
}

/** The endpoints of the server's OpenID provider. Secrets go there, so each must be on the server itself. */
export async function discover(ctx: Ctx, baseUrl: string): Promise<(name: string) => string> {
  const url = `${baseUrl}/oauth/.well-known/openid-configuration`;
  const response = await request(ctx, url, { headers: { accept: 'application/json' } });
  const document = await readJson(url, response);
  if (!response.ok) throw notAnswered(url, response.status);
  return (name) => {
    const endpoint = document[name];
    if (typeof endpoint !== 'string') throw new CliError('sign_in_failed', `${baseUrl} offers no ${name}.`);
    return trusted(endpoint, baseUrl);
  };
}

export function trusted(url: string, baseUrl: string): string {
  if (sameServer(url, baseUrl)) return url;
  throw new CliError(
    'sign_in_failed',
    `${baseUrl} points to ${url} for the sign-in, which is another server.`,
    {
      next: 'Check SVC_BASE_URL; if it is right, tell the operator.',
    },
  );
}

/** An OAuth request: what it answers when it works, or the `error` code when it does not. */
export type OAuthAnswer =
  | { ok: true; body: Record<string, unknown> }
  | { ok: false; error: string; detail: string };

export async function postForm(ctx: Ctx, url: string, fields: Record<string, string>): Promise<OAuthAnswer> {
  const response = await request(ctx, url, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ client_id: cliClientId, ...fields }).toString(),
  });
  const body = await readJson(url, response);
  if (response.ok) return { ok: true, body };
  if (typeof body.error !== 'string') throw notAnswered(url, response.status);
  const detail = typeof body.error_description === 'string' ? body.error_description : body.error;
  return { ok: false, error: body.error, detail };
}

export function asTokens(body: Record<string, unknown>): Tokens {
  const { access_token, refresh_token, expires_in } = body;
  if (typeof access_token !== 'string' || typeof expires_in !== 'number') {
    throw new CliError('sign_in_failed', 'The server answered the sign-in without a token.');
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
    // Falls through: a proxy's page, or another program on that port.
  }
  throw notAnswered(url, response.status);
}

function notAnswered(url: string, status: number): CliError {
  return new CliError(
    status >= 500 ? 'bad_gateway' : 'not_this_service',
    `${url} answered ${status}, not as this service does.`,
    {
      next: 'Check SVC_BASE_URL, and any proxy in between.',
    },
  );
}
