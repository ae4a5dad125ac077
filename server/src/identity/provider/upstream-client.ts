import { groupNameCharsMax } from '@svc/contract/groups.ts';
import { isSafeName } from '@svc/contract/safe-names.ts';
import { memberAttributeCharsMax } from '@svc/contract/tenants.ts';
import * as client from 'openid-client';
import { isLoopback } from './local-login.ts';

export interface UpstreamSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  name: string;
  groupsClaim: string | null;
  attributeClaims: Readonly<Record<string, string>>;
}

export interface UpstreamIdentity {
  issuer: string;
  subject: string;
  email: string | null;
  emailVerified: boolean | null;
  name: string | null;
  groups: string[] | null;
  attributes: Record<string, string>;
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
const scopes = ['openid', 'email', 'profile'];

/** Discovery runs at the first sign-in, not at start: an unavailable upstream must not stop the server. */
export function createUpstreamClient(settings: UpstreamSettings): UpstreamClient {
  const { groupsClaim } = settings;
  const ownClaims = [
    ...new Set([...(groupsClaim === null ? [] : [groupsClaim]), ...Object.values(settings.attributeClaims)]),
  ];
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
      const config = await configuration();
      // Some providers send the claim only with a scope of its name.
      const { scopes_supported: supported = [] } = config.serverMetadata();
      const more = ownClaims.filter((claim) => supported.includes(claim) && !scopes.includes(claim));
      const location = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: [...scopes, ...more].join(' '),
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
      const isMissing = ['email', ...ownClaims].some((claim) => claims[claim] === undefined);
      const canFetch = config.serverMetadata().userinfo_endpoint !== undefined;
      const more =
        isMissing && canFetch ? await client.fetchUserInfo(config, tokens.access_token, claims.sub) : {};
      const profile: Record<string, unknown> = { ...more, ...claims };
      return {
        issuer: claims.iss,
        subject: claims.sub,
        email: typeof profile.email === 'string' ? profile.email : null,
        emailVerified: typeof profile.email_verified === 'boolean' ? profile.email_verified : null,
        name: typeof profile.name === 'string' ? profile.name : null,
        groups: groupsClaim === null ? null : readGroups(profile, groupsClaim),
        attributes: readAttributes(profile, settings.attributeClaims),
      };
    },
  };
}

/** Absent for a person without groups. Too many are listed elsewhere (OpenID Connect Core §5.6.2); then the groups stay. */
export function readGroups(profile: Record<string, unknown>, claim: string): string[] | null {
  const value = profile[claim];
  const elsewhere = profile._claim_names;
  if (value === undefined && typeof elsewhere === 'object' && elsewhere !== null && claim in elsewhere)
    return null;
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.filter(
    (each): each is string =>
      typeof each === 'string' && each.length <= groupNameCharsMax && each.trim() !== '' && isSafeName(each),
  );
}

/** Texts, numbers and booleans; a list and a value that is too long count as absent, so that no filter matches part of it. */
export function readAttributes(
  profile: Record<string, unknown>,
  claims: UpstreamSettings['attributeClaims'],
): Record<string, string> {
  const value = (claim: string) => {
    const sent = profile[claim];
    const text = ['string', 'number', 'boolean'].includes(typeof sent) ? String(sent) : '';
    const isValid = [...text].length <= memberAttributeCharsMax && /^[^\p{Cc}\p{Cs}]*$/u.test(text);
    return isValid ? text : '';
  };
  return Object.fromEntries(Object.entries(claims).map(([name, claim]) => [name, value(claim)]));
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

function isLocal(url: URL): boolean {
  return (
    url.protocol === 'http:' &&
    (url.hostname === 'localhost' || isLoopback(url.hostname.replace(/[[\]]/g, '')))
  );
}
