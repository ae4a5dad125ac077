import type { Client, ClientMetadata, Provider } from 'oidc-provider';
import { findAppById } from '../apps/find-app-by-id.ts';
import type { Db } from '../plumbing/db.ts';
import { isUuid } from '../plumbing/ref.ts';
import { appHome, isAppOrigin, isAppRedirect } from './app-redirects.ts';
import { cliScope } from './provider-clients.ts';

/** An app is an OAuth client whose id is its own; the clients of ours and of tests have names. */
export function appIdOf(clientId: string | null | undefined): string | null {
  return clientId && isUuid(clientId) ? clientId : null;
}

/** An app as the OpenID provider knows it; an archived one signs nobody in. */
export async function findAppClient(
  place: { db: Db; baseUrl: string; appsDomain: string },
  clientId: string,
): Promise<ClientMetadata | undefined> {
  const app = await findAppById(place, { id: clientId });
  if (app?.record !== 'active' || app.id !== clientId) return undefined;
  const home = app.subdomain === null ? noHome : appHome(place, app.subdomain);
  return {
    client_id: app.id,
    client_name: app.name,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: [home],
    scope: cliScope,
    id_token_signed_response_alg: 'ES256',
  };
}

/** The provider compares with a list; an app's addresses are a host and a rule. */
export function allowAppRedirects({ Client }: Provider): void {
  const byList = Client.prototype.redirectUriAllowed;
  Client.prototype.redirectUriAllowed = function (this: Client, uri: string) {
    return appIdOf(this.clientId) === null ? byList.call(this, uri) : isAppRedirect(uri, homeOf(this));
  };
}

export function isClientOrigin(client: Client, origin: string): boolean {
  if (client.clientAuthMethod !== 'none') return false;
  if (appIdOf(client.clientId) !== null) return isAppOrigin(origin, homeOf(client));
  return (client.redirectUris ?? []).some((uri) => URL.parse(uri)?.origin === origin);
}

/** The provider wants one address at least. */
const noHome = 'http://localhost/';

function homeOf(client: Client): string {
  return client.redirectUris?.[0] ?? noHome;
}
