import { createClient } from '@svc/contract/client.ts';
import { accessTokenSeconds, getMe, localGrantType, localLoginFile } from '@svc/contract/identity.ts';
import type { JsonSchema, Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError, usageError } from '../framework/errors.ts';
import { deviceFlow, discover, loginScope, parseTokens, postForm, type Tokens } from './oauth.ts';
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
} from './profile.ts';
import { changeConfig, changeCredentials, withLock } from './profile-store.ts';
import { toStoredLogin } from './renew-login.ts';
import { request } from './request.ts';
import { withTimeout } from './waiting.ts';

export interface NewLogin {
  baseUrl: string;
  tokens: Tokens;
}

export async function saveLogin(ctx: Ctx, login: NewLogin): Promise<Result> {
  const session = await ctx.session();
  const me = await fetchUser(ctx, login);
  const former = session.tenant?.id;
  const active =
    me.tenants.find((it) => it.id === former) ?? (me.tenants.length === 1 ? me.tenants[0] : undefined);
  const tenant = active === undefined ? null : { id: active.id, slug: active.slug, name: active.name };
  const stored = toStoredLogin(login.baseUrl, login.tokens, ctx.io.now());
  // The expiry of a token that was issued elsewhere is known to the server only.
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

async function fetchUser(ctx: Ctx, { baseUrl, tokens }: NewLogin) {
  const client = createClient({
    baseUrl,
    credential: () => ({ authorization: `Bearer ${tokens.access_token}` }),
    fetch: (url, init) => request(ctx, url, init),
  });
  return client.call(getMe, {});
}

export async function deviceLogin(ctx: Ctx, options: { browser: boolean }): Promise<NewLogin> {
  const { baseUrl } = await ctx.session();
  return { baseUrl, tokens: await deviceFlow(ctx, baseUrl, options) };
}

export async function tokenLogin(ctx: Ctx): Promise<NewLogin> {
  const { baseUrl } = await ctx.session();
  const token = (await ctx.io.readInput()).trim();
  if (!/^[\x21-\x7e]+$/.test(token)) throw usageError('Standard input is not an access token.');
  return { baseUrl, tokens: { access_token: token, expires_in: accessTokenSeconds } };
}

/** The server's default data folder is in the root of the repository. */
const dataDirDefault = Bun.fileURLToPath(new URL('../../../.svc', import.meta.url));

/** Logs in with a secret in the server's data folder: its readers control the server anyway. */
export async function localLogin(ctx: Ctx): Promise<NewLogin> {
  const { baseUrl, secret } = await readSecret(ctx.io.env.SVC_DATA_DIR || dataDirDefault);
  const configuredUrl = ctx.io.env.SVC_BASE_URL;
  if (configuredUrl && !isSameServer(configuredUrl, baseUrl)) {
    throw usageError(
      `SVC_BASE_URL is ${configuredUrl}, but the data folder belongs to ${baseUrl}.`,
      'Unset SVC_BASE_URL, or set SVC_DATA_DIR.',
    );
  }
  const answer = await postForm(ctx, `${baseUrl}/oauth/token`, {
    grant_type: localGrantType,
    local_secret: secret,
    scope: loginScope,
  });
  if (!answer.ok) {
    throw new CliError('access_denied', `The server rejected the local login: ${answer.detail}.`, {
      next: 'Check that the running server uses this data folder.',
    });
  }
  return {
    baseUrl: configuredUrl ? parseBaseUrl(configuredUrl, 'SVC_BASE_URL') : baseUrl,
    tokens: parseTokens(answer.body),
  };
}

async function readSecret(dir: string): Promise<{ baseUrl: string; secret: string }> {
  const path = `${dir}/${localLoginFile}`;
  let data: { base_url?: unknown; secret?: unknown };
  try {
    data = await Bun.file(path).json();
  } catch (cause) {
    throw new CliError('not_logged_in', `A local login is not possible: ${path} cannot be read.`, {
      next: 'Start the server on this machine first, or set SVC_DATA_DIR to its data folder.',
      cause,
    });
  }
  if (typeof data?.base_url !== 'string' || typeof data.secret !== 'string') {
    throw new CliError('config_unreadable', `${path} does not contain base_url and secret.`, {
      next: 'Restart the server.',
    });
  }
  return { baseUrl: parseBaseUrl(data.base_url, `base_url in ${path}`), secret: data.secret };
}

const revocationMsMax = 10_000;

export async function logout(ctx: Ctx): Promise<Result> {
  const dir = configDir(ctx.io.env);
  const profile = profileName(ctx.globals.profile, await readProfiles<Config>(dir, configFile));
  const login = (await readProfiles<Credentials>(dir, credentialsFile)).profiles[profile];
  if (ctx.io.env.SVC_TOKEN) ctx.note('SVC_TOKEN is set and still in use.');
  if (login === undefined) {
    ctx.note(`Profile ${profile} was not logged in.`);
    return { value: { profile, logged_out: false, revoked: false }, text: () => '' };
  }
  const revoked = await revoke(withTimeout(ctx, revocationMsMax), login);
  await withLock(dir, ctx.signal, () =>
    changeCredentials(dir, (credentials) => {
      delete credentials.profiles[profile];
    }),
  );
  if (!revoked)
    ctx.note(`${login.base_url} did not confirm the logout; the login expires there automatically.`);
  return {
    value: { profile, logged_out: true, revoked },
    text: () => `Logged out of ${login.base_url}.\n`,
  };
}

/** An unreachable server must not prevent a local logout. */
async function revoke(ctx: Ctx, login: StoredLogin): Promise<boolean> {
  try {
    const endpoint = await discover(ctx, login.base_url);
    const token = login.refresh_token ?? login.access_token;
    const hint = login.refresh_token === undefined ? 'access_token' : 'refresh_token';
    const answer = await postForm(ctx, endpoint('revocation_endpoint'), { token, token_type_hint: hint });
    return answer.ok;
  } catch (cause) {
    if (cause instanceof CliError && cause.code === 'interrupted') throw cause;
    return false;
  }
}

const text = { type: 'string' } as const;

const user: JsonSchema = {
  type: 'object',
  properties: { id: text, email: text, name: text, status: text },
  required: ['id', 'email', 'name', 'status'],
};

const tenant: JsonSchema = {
  anyOf: [
    { type: 'object', properties: { id: text, slug: text, name: text }, required: ['id', 'slug', 'name'] },
    { type: 'null' },
  ],
};

export const whoamiOutput: JsonSchema = {
  type: 'object',
  properties: {
    user,
    tenant,
    role: text,
    base_url: text,
    profile: text,
    credential: {
      type: 'object',
      properties: { kind: text, expires_at: text },
      required: ['kind', 'expires_at'],
    },
    tenants: {
      type: 'array',
      items: {
        type: 'object',
        properties: { id: text, slug: text, name: text, role: text },
        required: ['id', 'slug', 'name', 'role'],
      },
    },
  },
  required: ['user', 'tenant', 'role', 'base_url', 'profile', 'credential', 'tenants'],
};

export const loginOutput: JsonSchema = {
  type: 'object',
  properties: { user, tenant, base_url: text, profile: text },
  required: ['user', 'tenant', 'base_url', 'profile'],
};
