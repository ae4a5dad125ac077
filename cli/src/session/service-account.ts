import { subjectTokenTypes, tokenExchangeGrantType } from '@svc/contract/service-accounts.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { parseTokens, postForm } from './oauth.ts';
import type { StoredLogin } from './profile.ts';
import { toStoredLogin } from './renew-login.ts';
import { request } from './request.ts';

/** A token of the service account for the OpenID token of this CI job (RFC 8693). */
export async function exchangeToken(
  ctx: Ctx,
  { baseUrl, account }: { baseUrl: string; account: string },
): Promise<StoredLogin> {
  const answer = await postForm(ctx, `${baseUrl}/oauth/token`, {
    grant_type: tokenExchangeGrantType,
    service_account: account,
    subject_token: await readJobToken(ctx, baseUrl),
    subject_token_type: subjectTokenTypes[0],
  });
  if (answer.ok) return toStoredLogin(baseUrl, parseTokens(answer.body), ctx.io.now());
  throw new CliError(
    'access_denied',
    `${baseUrl} did not accept this job as the service account ${account}: ${answer.detail}.`,
    { next: `Compare the job with the rules of svc service-accounts get; the audience is ${baseUrl}.` },
  );
}

/** GitLab and others set `SVC_OIDC_TOKEN`; GitHub Actions has a URL that issues a token. */
async function readJobToken(ctx: Ctx, audience: string): Promise<string> {
  const { SVC_OIDC_TOKEN, ACTIONS_ID_TOKEN_REQUEST_URL, ACTIONS_ID_TOKEN_REQUEST_TOKEN } = ctx.io.env;
  if (SVC_OIDC_TOKEN) return SVC_OIDC_TOKEN;
  if (!ACTIONS_ID_TOKEN_REQUEST_URL || !ACTIONS_ID_TOKEN_REQUEST_TOKEN)
    throw new CliError('not_logged_in', 'SVC_SERVICE_ACCOUNT is set, but this job has no OpenID token.', {
      next: 'GitHub: add `permissions: id-token: write` to the job. GitLab: add `id_tokens: SVC_OIDC_TOKEN`.',
    });
  const url = new URL(ACTIONS_ID_TOKEN_REQUEST_URL);
  url.searchParams.set('audience', audience);
  const response = await request(ctx, url.href, {
    headers: { authorization: `Bearer ${ACTIONS_ID_TOKEN_REQUEST_TOKEN}`, accept: 'application/json' },
  });
  const { value } = (await response.json().catch(() => ({}))) as { value?: unknown };
  if (response.ok && typeof value === 'string') return value;
  throw new CliError('sign_in_failed', `GitHub gave this job no OpenID token (status ${response.status}).`);
}
