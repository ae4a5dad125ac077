import { onApp } from '../apps/app-events.ts';
import { createTaggedCache } from '../core/cache.ts';
import { at } from '../http/front.ts';
import type { Deps, Module } from '../http/module.ts';
import { onPerson } from '../people/person-events.ts';
import { findSeededAdmin } from '../people/seed.ts';
import {
  type CredentialDeps,
  createAuthenticate,
  createFindCredential,
} from './credentials/find-credential.ts';
import { removeAppFromPats, revokePatsOfMember } from './pats/pats.ts';
import { patRoutes } from './pats/routes.ts';
import { createConsoleLogin } from './provider/console-login.ts';
import { closeLocalLogin, openLocalLogin } from './provider/local-login.ts';
import {
  createLazyProvider,
  type IdentityProvider,
  type IdentityProviderOptions,
} from './provider/provider.ts';
import { oauthCookieKey, oauthSigningKey } from './provider/provider-config.ts';
import { deleteOldLoginAttempts } from './provider/store.ts';
import { deleteExpiredModels } from './sessions/models-store.ts';
import { sessionRoutes } from './sessions/routes.ts';
import { endSignIns, endSignInsToApp } from './sessions/sessions.ts';

export interface IdentityServices {
  authenticate: ReturnType<typeof createAuthenticate>;
  findCredential: ReturnType<typeof createFindCredential>;
  provider: IdentityProvider;
}

type IdentityDeps = Deps & {
  config: Pick<IdentityProviderOptions, 'upstream'> & { seed: 'demo' | 'none' };
};

export const identity: Module = {
  name: 'identity',
  keys: [oauthSigningKey, oauthCookieKey],
  async open({
    config,
    db,
    events,
    log,
    now,
    invalidation,
    keys,
    onStop,
  }: IdentityDeps): Promise<IdentityServices> {
    const localSecret = config.seed === 'demo' ? openLocalLogin(config) : null;
    onStop(() => closeLocalLogin(config, localSecret));
    const provider = await createLazyProvider({
      ...config,
      db,
      events,
      log,
      keys: {
        signing: await keys.follow(oauthSigningKey),
        cookies: await keys.follow(oauthCookieKey),
      },
      localSecret,
      localUser: () => findSeededAdmin(db),
    });
    onStop(provider.stop);
    const credentials = (): CredentialDeps => ({
      db,
      cache: createTaggedCache(invalidation, { entriesMax: 10_000 }),
      now,
      origin: config.baseUrl,
      log,
    });
    return {
      authenticate: createAuthenticate(credentials()),
      findCredential: createFindCredential(credentials()),
      provider,
    };
  },
  routes: () => [...sessionRoutes, ...patRoutes],
  handlers: ({ config, provider }: IdentityDeps & IdentityServices) => [
    {
      matches: (path) => path === '/oauth' || path.startsWith('/oauth/'),
      route: 'oauth',
      handle: provider.handle,
    },
    {
      matches: at('/login', '/login/done', '/logout'),
      route: 'login',
      handle: createConsoleLogin({ baseUrl: config.baseUrl }),
    },
  ],
  jobs: ({ db }) => [
    { name: 'oauth.expire', cron: '*/10 * * * *', run: () => deleteExpiredModels(db) },
    { name: 'attempts.forget', cron: '*/10 * * * *', run: () => deleteOldLoginAttempts(db) },
  ],
  subscriptions: () => [
    onPerson({
      leftTenant: (ctx, { tenantId, user }) => revokePatsOfMember(ctx, { tenantId, userId: user.id }),
      deactivated: async (ctx, { tenantId, user }) => {
        await revokePatsOfMember(ctx, { tenantId, userId: user.id });
        await endSignIns(ctx, { userId: user.id });
      },
      suspended: endSignIns,
      activated: endSignIns,
      passwordChanged: endSignIns,
    }),
    onApp({
      deleted: async (ctx, { appId }) => {
        await endSignInsToApp(ctx, { appId });
        return { before: {}, after: {} };
      },
      purged: async (ctx, app) => {
        const tokens = await removeAppFromPats(ctx, app);
        // The app signed everybody out when it was deleted; this ends a sign-in that was in progress then.
        await endSignInsToApp(ctx, app);
        return {
          removed: { tokens_revoked: tokens.revoked, tokens_narrowed: tokens.narrowed },
          changes: tokens.changes,
        };
      },
    }),
  ],
};
