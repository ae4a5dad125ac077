import { cliClientId, localGrantType } from '@svc/contract/identity.ts';
import { tokenExchangeGrantType } from '@svc/contract/service-accounts.ts';
import { stagingSuffix } from '@svc/contract/static-sites.ts';
import type { Client, ClientMetadata, Provider } from 'oidc-provider';
import { findAppById } from '../../apps/record/find-app.ts';
import { appUrl } from '../../apps/record/rules.ts';
import type { Db } from '../../core/db.ts';
import { isUuid } from '../../core/values.ts';

/** The console signs in for the session cookie only; its code is not redeemed. */
export const consoleClientId = 'svc-console';
export const cliScope = 'openid email profile offline_access';

/** Our own clients need no consent. */
export const ownClientIds: readonly string[] = [cliClientId, consoleClientId];

const publicClient = { token_endpoint_auth_method: 'none', id_token_signed_response_alg: 'ES256' } as const;

export function ownClients(options: { baseUrl: string; localLogin: 'on' | 'off' }): ClientMetadata[] {
  return [
    {
      ...publicClient,
      client_id: cliClientId,
      client_name: 'svc command line',
      grant_types: [
        'urn:ietf:params:oauth:grant-type:device_code',
        'refresh_token',
        tokenExchangeGrantType,
        ...(options.localLogin === 'on' ? [localGrantType] : []),
      ],
      response_types: [],
      redirect_uris: [],
    },
    {
      ...publicClient,
      client_id: consoleClientId,
      client_name: 'svc',
      grant_types: ['authorization_code'],
      response_types: ['code'],
      redirect_uris: [`${options.baseUrl}/login/done`],
      post_logout_redirect_uris: [`${options.baseUrl}/`],
    },
  ];
}

/** An app's client id is the app's id; other clients have names. */
export function parseAppClientId(clientId: string | null | undefined): string | null {
  return clientId && isUuid(clientId) ? clientId : null;
}

/** An archived app cannot sign anybody in. */
export async function findAppClient(
  urls: { db: Db; baseUrl: string; appsDomain: string },
  clientId: string,
): Promise<ClientMetadata | undefined> {
  const app = await findAppById(urls, { id: clientId });
  if (app?.record !== 'active' || app.id !== clientId) return undefined;
  const home = app.subdomain === null ? placeholderUrl : appUrl(urls, app.subdomain);
  return {
    ...publicClient,
    client_id: app.id,
    client_name: app.name,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: [home],
    scope: cliScope,
  };
}

/** The provider compares with a list; an app's redirect URIs, after a sign-out too, are any path of its host. */
export function allowAppRedirects({ Client }: Provider): void {
  for (const name of ['redirectUriAllowed', 'postLogoutRedirectUriAllowed'] as const) {
    const isRegistered = Client.prototype[name];
    Client.prototype[name] = function (this: Client, uri: string) {
      return parseAppClientId(this.clientId) === null
        ? isRegistered.call(this, uri)
        : isAppRedirect(uri, clientHome(this));
    };
  }
}

export function isClientOrigin(client: Client, origin: string): boolean {
  if (client.clientAuthMethod !== 'none') return false;
  if (parseAppClientId(client.clientId) !== null) return isAppOrigin(origin, clientHome(client));
  return (client.redirectUris ?? []).some((uri) => URL.parse(uri)?.origin === origin);
}

/** The provider requires at least one URI. */
const placeholderUrl = 'http://localhost/';

export function clientHome(client: Client): string {
  return client.redirectUris?.[0] ?? placeholderUrl;
}

/** Any path of the app's own host, or of a loopback address (RFC 8252 §7.3), in the one spelling that all parsers read alike. */
export function isAppRedirect(uri: string, home: string): boolean {
  const url = URL.parse(uri);
  if (!url || (url.href !== uri && url.href !== `${uri}/`)) return false;
  if (url.username !== '' || url.password !== '' || uri.includes('?') || uri.includes('#')) return false;
  return isAppOrigin(url.origin, home);
}

/** Allows CORS for the origins that may receive a redirect. */
export function isAppOrigin(origin: string, home: string): boolean {
  return origin === URL.parse(home)?.origin || isUnreviewedHost(origin, home) || isLoopback(origin);
}

/** The staging host of an app. A preview of a branch is an app of its own, and so is its client. */
export function isUnreviewedHost(address: string, home: string): boolean {
  const [url, own] = [URL.parse(address), URL.parse(home)];
  if (!url || !own || home === placeholderUrl) return false;
  if (url.protocol !== own.protocol || url.port !== own.port) return false;
  const [label = '', ...rest] = url.hostname.split('.');
  const [name = '', ...domain] = own.hostname.split('.');
  return rest.join('.') === domain.join('.') && label === `${name}${stagingSuffix}`;
}

/** Any local program can listen there, so a loopback address does not identify an app. */
export function isLoopback(address: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === 'http:' && loopbackHosts.includes(url.hostname) && address.startsWith(url.origin);
}

const loopbackHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];
