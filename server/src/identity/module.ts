import { appTokenPrefix } from '@svc/contract/service-accounts.ts';
import { onApp } from '../apps/app-events.ts';
import { createTaggedCache } from '../core/cache.ts';
import type { MailConfig } from '../drivers/mail/mail.ts';
import { openSmtpMail } from '../drivers/mail/smtp-mail.ts';
import { createIssuerKeys, type IssuerKeys } from '../drivers/oidc/issuer-keys.ts';
import { at, under } from '../http/front.ts';
import type { Deps, Module } from '../http/module.ts';
import { onPerson } from '../people/person-events.ts';
import { findSeededAdmin } from '../people/seed.ts';
import { mailResetLink, resetMailTopic } from './account/password.ts';
import { deleteKnownOrigins, deleteOldAccountRows, deleteOldLoginAttempts } from './account/store.ts';
import { createAppTokenHandler } from './app-identity/app-tokens.ts';
import { revokeAccountGrants } from './app-identity/service-accounts.ts';
import { countServiceAccounts, deleteExpiredAppTokens } from './app-identity/store.ts';
import {
  type CredentialDeps,
  createAuthenticate,
  createFindCredential,
  type FindCredential,
} from './credentials/find-credential.ts';
import { askForSecondFactor, factorKey } from './factors/factors.ts';
import { removeAppFromPats, revokePatsOfMember } from './pats/pats.ts';
import { createConsoleLogin } from './provider/console-login.ts';
import { closeLocalLogin, openLocalLogin } from './provider/local-login.ts';
import {
  createLazyProvider,
  type IdentityProvider,
  type IdentityProviderOptions,
} from './provider/provider.ts';
import { oauthCookieKey, oauthSigningKey } from './provider/provider-config.ts';
import { createResetPages } from './provider/reset-pages.ts';
import { accountRoutes, factorRoutes, patRoutes, serviceAccountRoutes, sessionRoutes } from './routes.ts';
import { deleteExpiredModels } from './sessions/models-store.ts';
import { endAppSignIns, endSignIns, endSignInsToApp } from './sessions/sessions.ts';

export interface IdentityServices {
  authenticate: ReturnType<typeof createAuthenticate>;
  findCredential: FindCredential;
  provider: IdentityProvider;
  issuers: IssuerKeys;
}

type IdentityDeps = Deps & {
  supervisor: { localSecret(): Promise<string> } | null;
  config: Pick<IdentityProviderOptions, 'upstream' | 'localPasswords'> & {
    seed: 'demo' | 'none';
    mail: MailConfig | null;
    trustedIssuers: readonly string[];
  };
};

const canResetPassword = ({ config }: IdentityDeps) => config.mail !== null && config.localPasswords === 'on';

export const identity: Module = {
  name: 'identity',
  keys: [oauthSigningKey, oauthCookieKey, factorKey],
  async open(deps: IdentityDeps): Promise<IdentityServices> {
    const { config, db, onCommitted, events, log, now, invalidation, keys, supervisor, onStop } = deps;
    const localSecret =
      config.seed === 'demo' ? openLocalLogin(config, await supervisor?.localSecret()) : null;
    // The other workers still use the file of the supervisor's secret.
    if (!supervisor) onStop(() => closeLocalLogin(config, localSecret));
    const issuers = createIssuerKeys({ trusted: config.trustedIssuers, now: Date.now });
    const provider = await createLazyProvider({
      ...config,
      db,
      onCommitted,
      events,
      log,
      keys: {
        signing: await keys.follow(oauthSigningKey),
        cookies: await keys.follow(oauthCookieKey),
      },
      issuers,
      localSecret,
      localUser: () => findSeededAdmin(db),
      canResetPassword: canResetPassword(deps),
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
      issuers,
    };
  },
  routes: ({ config, issuers, db, log, events }: IdentityDeps & IdentityServices) => [
    ...sessionRoutes,
    ...accountRoutes({ ...config, db, log, events }),
    ...factorRoutes({ ...config, db, log, events }),
    ...patRoutes,
    ...serviceAccountRoutes({ baseUrl: config.baseUrl, issuers }),
  ],
  handlers: ({ provider, ...deps }: IdentityDeps & IdentityServices) => [
    { matches: under(appTokenPrefix), handle: createAppTokenHandler(deps) },
    {
      matches: (path) => path === '/oauth' || path.startsWith('/oauth/'),
      route: 'oauth',
      handle: provider.handle,
    },
    {
      matches: at('/login', '/login/done', '/logout'),
      route: 'login',
      handle: createConsoleLogin({ ...deps, baseUrl: deps.config.baseUrl }),
    },
    {
      matches: at('/login/forgot', '/login/reset'),
      route: 'reset password',
      handle: createResetPages({
        ...deps,
        baseUrl: deps.config.baseUrl,
        canResetPassword: canResetPassword(deps),
      }),
    },
  ],
  effects: ({ config, db, log, now }: IdentityDeps) => ({
    [resetMailTopic]: mailResetLink({
      db,
      log,
      now,
      baseUrl: config.baseUrl,
      mail: config.mail && openSmtpMail(config.mail),
    }),
  }),
  jobs: ({ db }) => [
    { name: 'appTokens.expire', cron: '*/10 * * * *', run: () => deleteExpiredAppTokens(db) },
    { name: 'oauth.expire', cron: '*/10 * * * *', run: () => deleteExpiredModels(db) },
    { name: 'attempts.forget', cron: '*/10 * * * *', run: () => deleteOldLoginAttempts(db) },
    { name: 'accounts.forget', cron: '23 * * * *', run: () => deleteOldAccountRows(db) },
  ],
  subscriptions: () => [
    onPerson({
      leftTenant: (ctx, { tenantId, user }) => revokePatsOfMember(ctx, { tenantId, userId: user.id }),
      deactivated: async (ctx, { tenantId, user: { id: userId }, isElsewhere }) => {
        await revokePatsOfMember(ctx, { tenantId, userId });
        if (isElsewhere) await endAppSignIns(ctx, { tenantId, userId });
        else await endSignIns(ctx, { userId });
      },
      secondFactorRequired: askForSecondFactor,
      suspended: endSignIns,
      activated: endSignIns,
      passwordChanged: async (ctx, user) => {
        await endSignIns(ctx, user);
        // A person who knew the old password may have signed in from some of them.
        await deleteKnownOrigins(ctx.db, user.userId);
      },
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
          removed: {
            tokens_revoked: tokens.revoked,
            tokens_narrowed: tokens.narrowed,
            service_accounts: await countServiceAccounts(ctx.db, app),
          },
          changes: [...tokens.changes, ...(await revokeAccountGrants(ctx, app))],
        };
      },
    }),
  ],
};
