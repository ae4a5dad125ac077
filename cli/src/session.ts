import { type Client, createClient } from '@svc/contract/client.ts';
import type { Command } from './command.ts';
import type { Ctx } from './context.ts';
import { CliError, loginLine, usage } from './errors.ts';
import { openRequest, request } from './io.ts';
import {
  type Config,
  type Credentials,
  configDir,
  configFile,
  credentialsFile,
  parseBaseUrl,
  profileName,
  readProfiles,
  type StoredLogin,
  type StoredTenant,
  sameServer,
} from './profile.ts';

/** The server a command talks to, and as whom. */
export interface Session {
  configDir: string;
  profile: string;
  baseUrl: string;
  /** The active tenant of the profile, when the profile belongs to this server. */
  tenant: StoredTenant | null;
  /** Where the credential comes from; a PAT in `SVC_API_KEY` counts for commands that take one. */
  credential: 'SVC_TOKEN' | 'SVC_API_KEY' | 'stored' | 'none';
  client: Client;
  /** One request of another kind than the contract's endpoints, as the same person; its answer has arrived whole. */
  send(url: string, init: RequestInit): Promise<Response>;
  /** The same with the answer's body still to be read. */
  open(url: string, init: RequestInit): Promise<Response>;
}

const baseUrlDefault = 'http://localhost:4400';
/** Renewed this long before it ends, so that it does not end on the way. */
const renewBeforeMs = 30_000;

export async function openSession(ctx: Ctx, accepts: Command['credential']): Promise<Session> {
  const { env } = ctx.io;
  const apiKey = accepts === 'login_or_pat' ? env.SVC_API_KEY : undefined;
  if (apiKey && env.SVC_TOKEN) throw twoCredentials();
  const dir = configDir(env);
  const [config, credentials] = await Promise.all([
    readProfiles<Config>(dir, configFile),
    env.SVC_TOKEN || apiKey ? null : readProfiles<Credentials>(dir, credentialsFile),
  ]);
  const profile = profileName(ctx.globals.profile, config);
  const stored = config.profiles[profile];
  const baseUrl = env.SVC_BASE_URL
    ? parseBaseUrl(env.SVC_BASE_URL, 'SVC_BASE_URL')
    : (stored?.base_url ?? baseUrlDefault);
  const login = credentials?.profiles[profile] ?? null;
  const holder: LoginHolder = { dir, profile, baseUrl, login };
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
    tenant: stored?.tenant && sameServer(stored.tenant.base_url, baseUrl) ? stored.tenant : null,
    credential: env.SVC_TOKEN ? 'SVC_TOKEN' : apiKey ? 'SVC_API_KEY' : login === null ? 'none' : 'stored',
    client: createClient({
      baseUrl,
      credential,
      fetch: (url, init) => send(ctx, holder, request, url, init),
    }),
    send: (url, init) => sendBy(request, url, init),
    open: (url, init) => sendBy(openRequest, url, init),
  };
}

interface LoginHolder {
  dir: string;
  profile: string;
  baseUrl: string;
  login: StoredLogin | null;
}

type Headers = Record<string, string>;

function bearer(ctx: Ctx, holder: LoginHolder): Headers | Promise<Headers> {
  const { env } = ctx.io;
  if (env.SVC_TOKEN) return { authorization: `Bearer ${env.SVC_TOKEN}` };
  const { login } = holder;
  if (login === null) throw notLoggedIn(ctx, holder);
  // A login is never sent to a server it was not made for, however SVC_BASE_URL came to be set.
  if (!sameServer(login.base_url, holder.baseUrl)) {
    throw new CliError('not_logged_in', `You are logged in at ${login.base_url}, not at ${holder.baseUrl}.`, {
      next: `Run ${loginLine(ctx.globals.profile)} with SVC_BASE_URL=${holder.baseUrl}, or use another --profile.`,
    });
  }
  const leftMs = Date.parse(login.expires_at) - ctx.io.now().getTime();
  return leftMs < renewBeforeMs
    ? renew(ctx, holder, login)
    : { authorization: `Bearer ${login.access_token}` };
}

/** On 401 the login is renewed once: the clock may be wrong, or the token ended on the server's side. */
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

/** Which of the two was meant can not be told, and the server takes one only. */
function twoCredentials(): CliError {
  return usage('SVC_TOKEN and SVC_API_KEY are both set.', 'Unset one of them.');
}

function notLoggedIn(ctx: Ctx, holder: LoginHolder): CliError {
  const pat = ctx.io.env.SVC_API_KEY ? ' The token in SVC_API_KEY is good for the data API only.' : '';
  return new CliError('not_logged_in', `You are not logged in at ${holder.baseUrl}.${pat}`, {
    next: `Run ${loginLine(ctx.globals.profile)}.`,
  });
}
