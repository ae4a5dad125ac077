import * as client from 'openid-client';
import { isLoopback } from './local-grant.ts';

export interface UpstreamSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** What people know it by. */
  name: string;
}

export interface UpstreamIdentity {
  issuer: string;
  subject: string;
  email: string | null;
  /** Null when the provider does not say. */
  emailVerified: boolean | null;
  name: string | null;
}

/** What has to be remembered between sending someone to the outside provider and their coming back. */
export interface UpstreamChecks {
  state: string;
  nonce: string;
  verifier: string;
}

export interface UpstreamClient {
  begin(redirectUri: string): Promise<{ location: string; checks: UpstreamChecks }>;
  finish(callback: URL, checks: UpstreamChecks): Promise<UpstreamIdentity>;
}

const answerSecondsMax = 10;
const scope = 'openid email profile';

/** The outside provider is asked who it is at the first sign-in, not at start: its being away must not stop ours. */
export function createUpstreamClient(settings: UpstreamSettings): UpstreamClient {
  let known: Promise<client.Configuration> | undefined;

  function configuration(): Promise<client.Configuration> {
    known ??= discover(settings).catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  }

  return {
    async begin(redirectUri) {
      const checks = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      };
      const location = client.buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope,
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(checks.verifier),
        code_challenge_method: 'S256',
      });
      return { location: location.href, checks };
    },

    async finish(callback, checks) {
      const config = await configuration();
      const tokens = await client.authorizationCodeGrant(config, callback, {
        expectedState: checks.state,
        expectedNonce: checks.nonce,
        pkceCodeVerifier: checks.verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (!claims) throw new Error('The outside provider sent no ID token.');
      const missing = claims.email === undefined && config.serverMetadata().userinfo_endpoint !== undefined;
      const profile = missing ? await client.fetchUserInfo(config, tokens.access_token, claims.sub) : claims;
      return {
        issuer: claims.iss,
        subject: claims.sub,
        email: typeof profile.email === 'string' ? profile.email : null,
        emailVerified: typeof profile.email_verified === 'boolean' ? profile.email_verified : null,
        name: typeof profile.name === 'string' ? profile.name : null,
      };
    },
  };
}

function discover({ issuer, clientId, clientSecret }: UpstreamSettings): Promise<client.Configuration> {
  const server = new URL(issuer);
  const authentication: client.ClientAuth = (as, ...rest) => {
    // Where it says nothing, the standard says `client_secret_basic`.
    const methods = as.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const method = methods.includes('client_secret_basic')
      ? client.ClientSecretBasic
      : client.ClientSecretPost;
    return method(clientSecret)(as, ...rest);
  };
  return client.discovery(server, clientId, undefined, authentication, {
    timeout: answerSecondsMax,
    execute: isLocal(server) ? [client.allowInsecureRequests] : [],
  });
}

/** Whether the provider did not answer at all, rather than answer something wrong. */
export function isUpstreamAway(error: unknown): boolean {
  if (!(error instanceof client.ClientError)) return error instanceof TypeError;
  if (error.code === undefined || error.code === 'OAUTH_TIMEOUT' || error.code === 'OAUTH_ABORT') return true;
  return error.cause instanceof Response && error.cause.status >= 500;
}

/** Without TLS only on the machine itself. */
function isLocal(url: URL): boolean {
  return (
    url.protocol === 'http:' &&
    (url.hostname === 'localhost' || isLoopback(url.hostname.replace(/[[\]]/g, '')))
  );
}
