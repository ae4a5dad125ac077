import * as client from 'openid-client';
import { isLoopback } from './local-login.ts';

export interface UpstreamSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
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

/** Discovery runs at the first sign-in, not at start: an unavailable upstream must not stop the server. */
export function createUpstreamClient(settings: UpstreamSettings): UpstreamClient {
  let discovered: Promise<client.Configuration> | undefined;

  function configuration(): Promise<client.Configuration> {
    discovered ??= discover(settings).catch((error: unknown) => {
      discovered = undefined;
      throw error;
    });
    return discovered;
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
      if (!claims) throw new Error('upstream provider sent no ID token');
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
    // The default of OpenID Connect Discovery is `client_secret_basic`.
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

export function isUpstreamUnavailable(error: unknown): boolean {
  if (!(error instanceof client.ClientError)) return error instanceof TypeError;
  if (error.code === undefined || error.code === 'OAUTH_TIMEOUT' || error.code === 'OAUTH_ABORT') return true;
  return error.cause instanceof Response && error.cause.status >= 500;
}

/** Plain HTTP is allowed on loopback only. */
function isLocal(url: URL): boolean {
  return (
    url.protocol === 'http:' &&
    (url.hostname === 'localhost' || isLoopback(url.hostname.replace(/[[\]]/g, '')))
  );
}
