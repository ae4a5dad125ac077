import { type Client, createClient } from '@svc/contract/client.ts';
import type { Ctx } from '../context.ts';
import { CliError, usageError } from '../framework/errors.ts';
import {
  type Config,
  type Credentials,
  configDir,
  configFile,
  credentialsFile,
  isSameServer,
  parseBaseUrl,
  profileName,
  readProfiles,
  type StoredLogin,
  type StoredTenant,
} from './profile.ts';
import { loginCommand, openRequest, request } from './request.ts';

export interface Session {
  configDir: string;
  profile: string;
  baseUrl: string;
  tenant: StoredTenant | null;
  credential: 'SVC_TOKEN' | 'SVC_API_KEY' | 'SVC_SERVICE_ACCOUNT' | 'stored' | 'none';
  /** A token or a service account: it can neither list tenants nor read the app. */
  isLimited: boolean;
  client: Client;
  send(url: string, init: RequestInit): Promise<Response>;
  open(url: string, init: RequestInit): Promise<Response>;
}

export const baseUrlDefault = 'http://localhost:4400';
/** Avoids that the token expires during a request. */
const renewBeforeExpiryMs = 30_000;

export async function openSession(ctx: Ctx, accepts: 'login' | 'login_or_pat'): Promise<Session> {
  const { env } = ctx.io;
  const apiKey = accepts === 'login_or_pat' ? env.SVC_API_KEY : undefined;
  if (apiKey && env.SVC_TOKEN) throw twoCredentialsError();
  const account = env.SVC_TOKEN || apiKey ? undefined : env.SVC_SERVICE_ACCOUNT || undefined;
  const dir = configDir(env);
  const [config, credentials] = await Promise.all([
    readProfiles<Config>(dir, configFile),
    env.SVC_TOKEN || apiKey || account ? null : readProfiles<Credentials>(dir, credentialsFile),
  ]);
  const profile = profileName(ctx.globals.profile, config);
  const stored = config.profiles[profile];
  const baseUrl = env.SVC_BASE_URL
    ? parseBaseUrl(env.SVC_BASE_URL, 'SVC_BASE_URL')
    : (stored?.base_url ?? baseUrlDefault);
  const login = credentials?.profiles[profile] ?? null;
  const holder: LoginHolder = { dir, profile, baseUrl, login, account };
  const credential = () => (apiKey ? { 'x-api-key': apiKey } : bearer(ctx, holder));
  const sendBy = async (how: typeof request, url: string, init: RequestInit) =>
    send(ctx, holder, how, url, {
      ...init,
      headers: { ...(init.headers as Headers), ...(await credential()) },
    });
  return {
    configDir: dir,
    profile,
    baseUrl,
    tenant:
      account !== undefined
        ? tenantOfAccount(account, baseUrl)
        : stored?.tenant && isSameServer(stored.tenant.base_url, baseUrl)
          ? stored.tenant
          : null,
    isLimited: apiKey !== undefined || account !== undefined || isServiceToken(env.SVC_TOKEN),
    credential: credentialName({ token: env.SVC_TOKEN, apiKey, account, login }),
    client: createClient({
      baseUrl,
      credential,
      fetch: (url, init) => send(ctx, holder, request, url, init),
    }),
    send: (url, init) => sendBy(request, url, init),
    open: (url, init) => sendBy(openRequest, url, init),
  };
}

export function isServiceToken(token: string | undefined): boolean {
  return token?.startsWith('svcsat_') === true;
}

function credentialName(sources: {
  token: string | undefined;
  apiKey: string | undefined;
  account: string | undefined;
  login: StoredLogin | null;
}): Session['credential'] {
  if (sources.token) return 'SVC_TOKEN';
  if (sources.apiKey) return 'SVC_API_KEY';
  if (sources.account) return 'SVC_SERVICE_ACCOUNT';
  return sources.login === null ? 'none' : 'stored';
}

/** `tenant/app/name` names the tenant; an id does not. */
function tenantOfAccount(account: string, baseUrl: string): StoredTenant | null {
  const [slug = '', ...rest] = account.split('/');
  return rest.length === 2 ? { id: slug, slug, base_url: baseUrl } : null;
}

interface LoginHolder {
  dir: string;
  profile: string;
  baseUrl: string;
  login: StoredLogin | null;
  account: string | undefined;
}

type Headers = Record<string, string>;

function bearer(ctx: Ctx, holder: LoginHolder): Headers | Promise<Headers> {
  const { env } = ctx.io;
  if (env.SVC_TOKEN) return { authorization: `Bearer ${env.SVC_TOKEN}` };
  if (holder.account !== undefined) return serviceAccountHeaders(ctx, holder, holder.account);
  const { login } = holder;
  if (login === null) throw notLoggedInError(ctx, holder);
  // Never send a login to another server, also if SVC_BASE_URL names it.
  if (!isSameServer(login.base_url, holder.baseUrl)) {
    throw new CliError('not_logged_in', `You are logged in at ${login.base_url}, not at ${holder.baseUrl}.`, {
      next: `Run ${loginCommand(ctx.globals.profile)} with SVC_BASE_URL=${holder.baseUrl}, or use another --profile.`,
    });
  }
  const leftMs = Date.parse(login.expires_at) - ctx.io.now().getTime();
  return leftMs < renewBeforeExpiryMs
    ? renew(ctx, holder, login)
    : { authorization: `Bearer ${login.access_token}` };
}

/** The token of a service account is held in memory only, and replaced before it expires. */
async function serviceAccountHeaders(ctx: Ctx, holder: LoginHolder, account: string): Promise<Headers> {
  const leftMs = holder.login === null ? 0 : Date.parse(holder.login.expires_at) - ctx.io.now().getTime();
  if (leftMs < renewBeforeExpiryMs) {
    const { exchangeToken } = await import('./service-account.ts');
    holder.login = await exchangeToken(ctx, { baseUrl: holder.baseUrl, account });
  }
  return { authorization: `Bearer ${holder.login?.access_token}` };
}

/** Renews the login once on 401: the clock may be wrong, or the server has ended the token. */
function send(
  ctx: Ctx,
  holder: LoginHolder,
  how: typeof request,
  url: string,
  init: RequestInit,
): Promise<Response> {
  return how(ctx, url, init).then((response) => {
    const { login } = holder;
    if (response.status !== 401 || ctx.io.env.SVC_TOKEN || login?.refresh_token === undefined)
      return response;
    return renew(ctx, holder, login).then((renewed) =>
      how(ctx, url, { ...init, headers: { ...(init.headers as Headers), ...renewed } }),
    );
  });
}

async function renew(ctx: Ctx, holder: LoginHolder, used: StoredLogin): Promise<Headers> {
  const { renewLogin } = await import('./renew-login.ts');
  holder.login = await renewLogin(ctx, { dir: holder.dir, profile: holder.profile, used });
  return { authorization: `Bearer ${holder.login.access_token}` };
}

function twoCredentialsError(): CliError {
  return usageError('SVC_TOKEN and SVC_API_KEY are both set.', 'Unset one of them.');
}

function notLoggedInError(ctx: Ctx, holder: LoginHolder): CliError {
  const pat = ctx.io.env.SVC_API_KEY ? ' This command does not accept the token in SVC_API_KEY.' : '';
  return new CliError('not_logged_in', `You are not logged in at ${holder.baseUrl}.${pat}`, {
    next: `Run ${loginCommand(ctx.globals.profile)}.`,
  });
}
