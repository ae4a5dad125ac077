import { accessTokenSeconds, cliClientId } from '@svc/contract/identity.ts';
import type { Adapter, Configuration, Grant, KoaContextWithOIDC } from 'oidc-provider';
import { findAppForSignIn } from '../apps/find-app-for-sign-in.ts';
import type { Db } from '../plumbing/db.ts';
import { isUuid } from '../plumbing/ref.ts';
import { findUser } from '../users/find-user.ts';
import { appIdOf, isClientOrigin } from './app-clients.ts';
import { isLoopback } from './app-redirects.ts';
import { CookieSigner } from './cookie-signer.ts';
import { createDevicePages } from './device-pages.ts';
import { renderError } from './frame.ts';
import { grantedScopesOf } from './oauth-models.ts';
import { formTarget } from './pages/layout.ts';
import { loggedOutPage, logoutPage } from './pages/logout.ts';
import { sessionCookieOf } from './presented-credential.ts';
import { cliScope, consoleClientId, ownClientIds } from './provider-clients.ts';
import type { ProviderKeys } from './provider-keys.ts';
import { showPage } from './web-context.ts';

const day = 24 * 3600;
export const deviceCodeSeconds = 600;
const refreshTokenSeconds = 30 * day;
const sessionSeconds = 14 * day;
/** A device that renews its tokens stays signed in this long at most. */
const grantSeconds = 365 * day;

export interface ConfigParts {
  db: Db;
  baseUrl: string;
  keys: ProviderKeys;
  adapter: (kind: string) => Adapter;
  clients: NonNullable<Configuration['clients']>;
  interactionPolicy: typeof import('oidc-provider')['interactionPolicy'];
  /** What to throw when an app is not open to the person. */
  accessDenied: () => Error;
}

export function providerConfig(parts: ConfigParts): Configuration {
  const { db, baseUrl } = parts;
  const cookie = {
    httpOnly: true,
    sameSite: 'lax',
    signed: true,
    overwrite: true,
    secure: baseUrl.startsWith('https:'),
  } as const;

  return {
    adapter: parts.adapter,
    clients: parts.clients,
    jwks: parts.keys.jwks,
    cookies: {
      names: {
        session: sessionCookieOf(baseUrl),
        interaction: 'svc_interaction',
        resume: 'svc_interaction_resume',
      },
      keys: new CookieSigner(parts.keys.cookieKeys),
      long: { ...cookie, path: '/' },
      short: cookie,
    },
    claims: { openid: ['sub'], email: ['email'], profile: ['name'] },
    scopes: ['openid', 'offline_access'],
    responseTypes: ['code'],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
    pkce: { required: () => true },
    clockTolerance: 0,
    allowOmittingSingleRegisteredRedirectUri: false,
    rotateRefreshToken: true,
    ttl: {
      AccessToken: accessTokenSeconds,
      AuthorizationCode: 60,
      DeviceCode: deviceCodeSeconds,
      Grant: (_ctx, grant) => (grant.clientId === consoleClientId ? sessionSeconds : grantSeconds),
      IdToken: 3600,
      Interaction: 3600,
      RefreshToken: refreshTokenSeconds,
      Session: sessionSeconds,
    },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      resourceIndicators: { enabled: false },
      userinfo: { enabled: true },
      revocation: {
        enabled: true,
        allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
      },
      deviceFlow: { enabled: true, charset: 'base-20', mask: '****-****', ...createDevicePages(db) },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: showLogout,
        postLogoutSuccessSource: (ctx) => showPage(ctx, loggedOutPage(), 200),
      },
    },
    interactions: {
      policy: policyOf(parts),
      url: (_ctx, interaction) => `/oauth/interaction/${interaction.uid}`,
    },
    // Without a scope a device could be approved for nothing; clients that name none get the usual one.
    extraParams: {
      scope: (ctx, value, client) => {
        if (value === undefined && client.clientId === cliClientId)
          Object.assign(ctx.oidc.params ?? {}, { scope: cliScope });
      },
    },
    clientBasedCORS: (_ctx, origin, client) => isClientOrigin(client, origin),
    issueRefreshToken: (_ctx, client, source) =>
      client.grantTypeAllowed('refresh_token') &&
      (client.clientId === cliClientId ||
        appIdOf(client.clientId) !== null ||
        source.scopes.has('offline_access')),
    // Whoever signs out of the browser is signed out of the apps that they used with it.
    expiresWithSession: (_ctx, source) =>
      appIdOf(source.clientId) !== null ||
      (source.clientId !== cliClientId && !source.scopes.has('offline_access')),
    loadExistingGrant: (ctx) => loadExistingGrant(db, ctx),
    findAccount: async (_ctx, accountId, token) => {
      const user = isUuid(accountId) ? await findUser({ db }, { ref: accountId }) : null;
      if (user?.status !== 'active') return undefined;
      // An app that is closed to them since then learns nothing more of them, and its tokens are not renewed.
      const appId = appIdOf(token?.clientId);
      if (appId !== null && !(await findAppForSignIn({ db }, { appId, userId: user.id }))) return undefined;
      return { accountId: user.id, claims: () => ({ sub: user.id, email: user.email, name: user.name }) };
    },
    renderError,
  };
}

/**
 * Our own clients are granted what they ask for, and apps what the person has allowed them before, in whatever browser.
 * A device and each browser get a grant of their own, so that it can be ended alone.
 */
async function loadExistingGrant(db: Db, ctx: KoaContextWithOIDC): Promise<Grant | undefined> {
  const { client, session, account, result, provider } = ctx.oidc;
  if (!client || !session || !account) return undefined;
  const { accountId } = account;
  const known = result?.consent?.grantId ?? session.grantIdFor(client.clientId);
  const found = known && client.clientId !== cliClientId ? await provider.Grant.find(known) : undefined;
  const existing = found?.accountId === accountId ? found : undefined;
  if (!ownClientIds.includes(client.clientId)) {
    if (existing || appIdOf(client.clientId) === null) return existing;
    const allowed = await grantedScopesOf(db, { userId: accountId, clientId: client.clientId });
    if (![...ctx.oidc.requestParamScopes].every((scope) => allowed.has(scope))) return undefined;
  }
  const grant = existing ?? new provider.Grant({ accountId, clientId: client.clientId });
  grant.addOIDCScope(ctx.oidc.requestParamScopes);
  await grant.save();
  return grant;
}

/**
 * Someone who was suspended or deleted since they signed in has to sign in again, and can not. An app is open to whom
 * it reaches; and at an address that any program of the machine can have, nobody is signed in without a word
 * (RFC 8252, 8.6).
 */
function policyOf({ db, accessDenied, interactionPolicy: { base, Check } }: ConfigParts) {
  const policy = base();
  const { checks } = policy.get('consent') ?? {};
  checks?.add(
    new Check('app_closed', 'The app is not open to the End-User', 'access_denied', async (ctx) => {
      const appId = appIdOf(ctx.oidc.client?.clientId);
      const userId = ctx.oidc.session?.accountId;
      if (appId === null || userId === undefined) return false;
      if (!(await findAppForSignIn({ db }, { appId, userId }))) throw accessDenied();
      return false;
    }),
  );
  checks?.add(
    new Check('app_on_loopback', 'consent is required', 'consent_required', (ctx) =>
      Boolean(
        appIdOf(ctx.oidc.client?.clientId) !== null &&
          isLoopback(String(ctx.oidc.params?.redirect_uri)) &&
          !ctx.oidc.result?.consent,
      ),
    ),
  );
  policy
    .get('login')
    ?.checks.add(
      new Check('account_gone', 'End-User authentication is required', 'login_required', (ctx) =>
        Boolean(ctx.oidc.session?.accountId && !ctx.oidc.account),
      ),
    );
  return policy;
}

function showLogout(ctx: KoaContextWithOIDC): void {
  const state = ctx.oidc.session?.state;
  const target = state?.postLogoutRedirectUri;
  const page = logoutPage({
    action: '/oauth/session/end/confirm',
    xsrf: String(state?.secret ?? ''),
    formTargets: typeof target === 'string' ? formTarget(target) : [],
  });
  showPage(ctx, page, 200);
}
