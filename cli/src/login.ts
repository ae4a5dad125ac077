import { createClient } from '@svc/contract/client.ts';
import { accessTokenSeconds, getMe, localGrantType, localLoginFile } from '@svc/contract/identity.ts';
import type { Result } from './command.ts';
import type { Ctx } from './context.ts';
import { deviceFlow } from './device-flow.ts';
import { CliError, usage } from './errors.ts';
import { request } from './io.ts';
import { asTokens, loginScope, postForm, type Tokens } from './oauth.ts';
import { parseBaseUrl, sameServer } from './profile.ts';
import { changeConfig, changeCredentials, withLock } from './profile-store.ts';
import { storedLogin } from './renew-login.ts';

export interface NewLogin {
  baseUrl: string;
  tokens: Tokens;
}

/** Asks the server who this is, then keeps the login in the profile; nothing is kept of a login that fails. */
export async function saveLogin(ctx: Ctx, login: NewLogin): Promise<Result> {
  const session = await ctx.session();
  const me = await askWho(ctx, login);
  const former = session.tenant?.id;
  const active =
    me.tenants.find((it) => it.id === former) ?? (me.tenants.length === 1 ? me.tenants[0] : undefined);
  const tenant = active === undefined ? null : { id: active.id, slug: active.slug, name: active.name };
  const stored = storedLogin(login.baseUrl, login.tokens, ctx.io.now());
  // The server knows best when a token ends that was made elsewhere.
  if (login.tokens.refresh_token === undefined) stored.expires_at = me.credential.expires_at;
  const { configDir, profile } = session;
  await withLock(configDir, ctx.signal, async () => {
    await changeCredentials(configDir, (credentials) => {
      credentials.profiles[profile] = stored;
    });
    await changeConfig(configDir, (config) => {
      config.current_profile ??= profile;
      config.profiles[profile] = {
        base_url: login.baseUrl,
        ...(tenant !== null && { tenant: { id: tenant.id, slug: tenant.slug, base_url: login.baseUrl } }),
      };
    });
  });
  if (tenant === null && me.tenants.length > 1) ctx.note('Choose a tenant with svc tenants use <tenant>.');
  const { credential: _, tenants: __, ...user } = me;
  return {
    value: { user, tenant, base_url: login.baseUrl, profile },
    text: () =>
      `Logged in at ${login.baseUrl} as ${me.email}${tenant === null ? '' : `, tenant ${tenant.slug}`}.\n`,
  };
}

async function askWho(ctx: Ctx, { baseUrl, tokens }: NewLogin) {
  const client = createClient({
    baseUrl,
    credential: () => ({ authorization: `Bearer ${tokens.access_token}` }),
    fetch: (url, init) => request(ctx, url, init),
  });
  return client.call(getMe, {}, { signal: ctx.signal });
}

/** In a browser, here or on another device. */
export async function deviceLogin(ctx: Ctx, options: { browser: boolean }): Promise<NewLogin> {
  const { baseUrl } = await ctx.session();
  return { baseUrl, tokens: await deviceFlow(ctx, baseUrl, options) };
}

/** An access token that was made elsewhere; it can not be renewed. */
export async function tokenLogin(ctx: Ctx): Promise<NewLogin> {
  const { baseUrl } = await ctx.session();
  const token = (await ctx.io.readInput()).trim();
  if (!/^[\x21-\x7e]+$/.test(token)) throw usage('Standard input does not hold one access token.');
  return { baseUrl, tokens: { access_token: token, expires_in: accessTokenSeconds } };
}

/** The launcher lies at the root of the repository, and so does the server's default data folder. */
const dataDirDefault = Bun.fileURLToPath(new URL('../../.svc', import.meta.url));

/** Whoever can read the server's data folder owns the server anyway: its secret there is proof enough. */
export async function localLogin(ctx: Ctx): Promise<NewLogin> {
  const { baseUrl, secret } = await readSecret(ctx.io.env.SVC_DATA_DIR || dataDirDefault);
  const asked = ctx.io.env.SVC_BASE_URL;
  if (asked && !sameServer(asked, baseUrl)) {
    throw usage(
      `SVC_BASE_URL is ${asked}, but the data folder belongs to ${baseUrl}.`,
      'Unset SVC_BASE_URL, or set SVC_DATA_DIR.',
    );
  }
  const answer = await postForm(ctx, `${baseUrl}/oauth/token`, {
    grant_type: localGrantType,
    local_secret: secret,
    scope: loginScope,
  });
  if (!answer.ok) {
    throw new CliError('access_denied', `The server refused the local login: ${answer.detail}.`, {
      next: 'Is the running server the one that uses this data folder?',
    });
  }
  return { baseUrl: asked ? parseBaseUrl(asked, 'SVC_BASE_URL') : baseUrl, tokens: asTokens(answer.body) };
}

async function readSecret(dir: string): Promise<{ baseUrl: string; secret: string }> {
  const path = `${dir}/${localLoginFile}`;
  let data: { base_url?: unknown; secret?: unknown };
  try {
    data = await Bun.file(path).json();
  } catch (cause) {
    throw new CliError('not_logged_in', `${path} can not be read, so a local login is not possible.`, {
      next: 'Start the server on this machine first; SVC_DATA_DIR names its data folder.',
      cause,
    });
  }
  if (typeof data?.base_url !== 'string' || typeof data.secret !== 'string') {
    throw new CliError('config_unreadable', `${path} does not hold base_url and secret.`, {
      next: 'Restart the server.',
    });
  }
  return { baseUrl: parseBaseUrl(data.base_url, `base_url in ${path}`), secret: data.secret };
}
