import { randomBytes } from 'node:crypto';
import { accessTokenSeconds, cliClientId } from '@svc/contract/identity.ts';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import type { Adapter, Configuration, Grant, KoaContextWithOIDC } from 'oidc-provider';
import { findAppById, findAppForSignIn } from '../../apps/record/find-app.ts';
import { findInvitedMax } from '../../apps/record/status-store.ts';
import type { Db } from '../../core/db.ts';
import { declareKey, declareSigningKey, type LiveKey, randomText } from '../../core/keys.ts';
import { isUuid, sha256 } from '../../core/values.ts';
import { findUser } from '../../people/users/users.ts';
import type { SignInDeps } from '../account/sign-ins.ts';
import { sessionCookieName } from '../credentials/find-credential.ts';
import {
  clientHome,
  cliScope,
  consoleClientId,
  isClientOrigin,
  isLoopback,
  isUnreviewedHost,
  ownClientIds,
  parseAppClientId,
} from '../sessions/clients.ts';
import { listGrantedScopes } from '../sessions/models-store.ts';
import { findSignIn } from '../sessions/sessions.ts';
import { createDevicePages } from './device-pages.ts';
import { renderError } from './frame.ts';
import { formTarget } from './pages/layout.ts';
import { loggedOutPage, logoutPage } from './pages/pages.ts';
import { CookieSigner, cookieOptions, secureCookieName, showPage } from './web-context.ts';

const day = 24 * 3600;
export const deviceCodeSeconds = 600;
const refreshTokenSeconds = 30 * day;
const sessionSeconds = 14 * day;
const grantSeconds = 365 * day;

interface ConfigDeps extends SignInDeps {
  baseUrl: string;
  keys: ProviderKeys;
  adapter: (kind: string) => Adapter;
  clients: NonNullable<Configuration['clients']>;
  interactionPolicy: typeof import('oidc-provider')['interactionPolicy'];
  accessDenied: () => Error;
}

export function providerConfig(deps: ConfigDeps): Configuration {
  const { db, baseUrl } = deps;
  const cookie = cookieOptions(baseUrl);
  return {
    adapter: deps.adapter,
    clients: deps.clients,
    // The provider signs with the first key of an algorithm.
    jwks: { keys: listSigningKeys(deps.keys) },
    cookies: {
      names: {
        session: sessionCookieName(baseUrl),
        // Their path names one sign-in, so that several tabs do not interfere; `__Host-` would need the path `/`.
        interaction: secureCookieName(baseUrl, 'svc_interaction'),
        resume: secureCookieName(baseUrl, 'svc_interaction_resume'),
      },
      keys: new CookieSigner(deps.keys.cookies),
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
      introspection: {
        enabled: true,
        // A client without a secret learns what a request with the token tells anyway: about its own access tokens. Whether a
        // refresh token is valid shows only with its use, which reveals theft.
        allowedPolicy: async (_ctx, client, token) =>
          token.kind === 'AccessToken' &&
          token.clientId === client.clientId &&
          (await findOpenUser(db, token.accountId, token.clientId)) !== undefined &&
          (await findSignIn(db, { kind: 'login', hash: sha256(token.jti) })) !== null,
      },
      deviceFlow: { enabled: true, charset: 'base-20', mask: '****-****', ...createDevicePages(deps) },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: showLogout,
        postLogoutSuccessSource: (ctx) => showPage(ctx, loggedOutPage(), 200),
      },
    },
    interactions: {
      policy: createInteractionPolicy(deps),
      url: (_ctx, interaction) => `/oauth/interaction/${interaction.uid}`,
    },
    // Clients that request no scope get the default: a device could otherwise be approved for nothing.
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
        parseAppClientId(client.clientId) !== null ||
        source.scopes.has('offline_access')),
    // Signing out of the browser signs out of the apps that were used with it.
    expiresWithSession: (_ctx, source) =>
      parseAppClientId(source.clientId) !== null ||
      (source.clientId !== cliClientId && !source.scopes.has('offline_access')),
    loadExistingGrant: (ctx) => loadExistingGrant(db, ctx),
    findAccount: async (_ctx, accountId, token) => {
      const user = await findOpenUser(db, accountId, token?.clientId);
      return (
        user && { accountId: user.id, claims: () => ({ sub: user.id, email: user.email, name: user.name }) }
      );
    },
    renderError,
  };
}

/** An app that was closed to the user gets no more claims and no new tokens. */
async function findOpenUser(db: Db, accountId: string, clientId: string | undefined) {
  const user = isUuid(accountId) ? await findUser({ db }, { ref: accountId }) : null;
  if (user?.status !== 'active') return undefined;
  const appId = parseAppClientId(clientId);
  if (appId !== null && !(await findAppForSignIn({ db }, { appId, userId: user.id }))) return undefined;
  return user;
}

/** Own and reviewed apps need no consent. Each device and browser has its own grant, so that it can be revoked separately. */
async function loadExistingGrant(db: Db, ctx: KoaContextWithOIDC): Promise<Grant | undefined> {
  const { client, session, account, result, provider } = ctx.oidc;
  if (!client || !session || !account) return undefined;
  const { accountId } = account;
  const known = result?.consent?.grantId ?? session.grantIdFor(client.clientId);
  const found = known && client.clientId !== cliClientId ? await provider.Grant.find(known) : undefined;
  const existing = found?.accountId === accountId ? found : undefined;
  if (!ownClientIds.includes(client.clientId)) {
    if (existing || parseAppClientId(client.clientId) === null) return existing;
    const allowed = await listGrantedScopes(db, { userId: accountId, clientId: client.clientId });
    const hasConsented = [...ctx.oidc.requestParamScopes].every((scope) => allowed.has(scope));
    if (!hasConsented && !(await isReviewedApp(db, { appId: client.clientId, userId: accountId })))
      return undefined;
  }
  const grant = existing ?? new provider.Grant({ accountId, clientId: client.clientId });
  grant.addOIDCScope(ctx.oidc.requestParamScopes);
  await grant.save();
  return grant;
}

/** Published within the user's own tenant by a review, not by a policy. */
async function isReviewedApp(db: Db, visit: { appId: string; userId: string }): Promise<boolean> {
  const seen = await findAppForSignIn({ db }, visit);
  const app = await findAppById({ db }, { id: visit.appId });
  if (seen === null || app === null || app.previewOf !== null || app.visibility === 'private') return false;
  return (await findInvitedMax(db, { tenantId: app.tenantId, appId: app.id })) === null;
}

/**
 * A user who was suspended or deleted since the sign-in must sign in again. An app requires that it is visible
 * to the user. A loopback redirect always requires confirmation (RFC 8252 §8.6), and so does a host of the app whose code
 * nobody has reviewed yet.
 */
function createInteractionPolicy({ db, accessDenied, interactionPolicy: { base, Check } }: ConfigDeps) {
  const policy = base();
  const { checks } = policy.get('consent') ?? {};
  checks?.add(
    new Check('app_closed', 'The app is not open to the End-User', 'access_denied', async (ctx) => {
      const appId = parseAppClientId(ctx.oidc.client?.clientId);
      const userId = ctx.oidc.session?.accountId;
      if (appId === null || userId === undefined) return false;
      if (!(await findAppForSignIn({ db }, { appId, userId }))) throw accessDenied();
      return false;
    }),
  );
  checks?.add(
    new Check('app_not_reviewed', 'consent is required', 'consent_required', ({ oidc }) => {
      if (!oidc.client || parseAppClientId(oidc.client.clientId) === null || oidc.result?.consent)
        return false;
      const target = String(oidc.params?.redirect_uri);
      return isLoopback(target) || isUnreviewedHost(target, clientHome(oidc.client));
    }),
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

export interface ProviderKeys {
  signing: LiveKey<{ keys: SigningKey[] }>;
  cookies: LiveKey<string[]>;
}

type SigningKey = JWK & { kty: string };

export const oauthSigningKey = declareSigningKey({
  name: 'oauth.jwks',
  protects: 'ID tokens of the sign-in service',
  create: async () => ({ keys: [await newSigningKey('ES256'), await newSigningKey('RS256')] }),
  acceptedSeconds: sessionSeconds,
});

export const oauthCookieKey = declareKey<string[]>({
  name: 'oauth.cookie_keys',
  protects: 'Cookies of the sign-in service',
  create: () => [randomText()],
  acceptedSeconds: sessionSeconds,
});

export function listSigningKeys({ signing }: ProviderKeys): SigningKey[] {
  const current = signing.current();
  return [current, ...signing.accepted().filter((set) => set !== current)].flatMap(({ keys }) => keys);
}

async function newSigningKey(alg: 'ES256' | 'RS256'): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  const { kty, ...key } = await exportJWK(privateKey);
  if (!kty) throw new Error(`cannot create an ${alg} key`);
  return { kty, ...key, use: 'sig', alg, kid: randomBytes(8).toString('hex') };
}
