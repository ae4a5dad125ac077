import { createClient } from '@svc/contract/client.ts';
import { getMe } from '@svc/contract/identity.ts';
import type { Result } from './command.ts';
import type { Ctx } from './context.ts';
import type { Tokens } from './oauth.ts';
import { changeConfig, changeCredentials, withLock } from './profile-store.ts';
import { storedLogin } from './renew-login.ts';
import type { Session } from './session.ts';
import { requestWhole } from './transport.ts';

export interface NewLogin {
  baseUrl: string;
  tokens: Tokens;
}

/** Asks the server who this is, then keeps the login in the profile; nothing is kept of a login that fails. */
export async function saveLogin(ctx: Ctx, session: Session, login: NewLogin): Promise<Result> {
  const me = await askWho(ctx, login);
  const former = session.tenant?.id;
  const active =
    me.tenants.find((it) => it.id === former) ?? (me.tenants.length === 1 ? me.tenants[0] : undefined);
  const tenant = active === undefined ? null : { id: active.id, slug: active.slug, name: active.name };
  const stored = storedLogin(login.baseUrl, login.tokens, ctx.io.now());
  // The server knows best when a token ends that was made elsewhere.
  if (login.tokens.refresh_token === undefined) stored.expires_at = me.credential.expires_at;
  const { configDir, profile } = session;
  await withLock(configDir, async () => {
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
    fetch: (url, init) => requestWhole(ctx, url, init),
  });
  return client.call(getMe, {}, { signal: ctx.signal });
}
