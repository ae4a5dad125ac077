import { cliClientId, localGrantType } from '@svc/contract/identity.ts';
import type { ClientMetadata } from 'oidc-provider';

/** The console in the browser. It signs in to get the session cookie; the code it is sent back with is not redeemed. */
export const consoleClientId = 'svc-console';
export const cliScope = 'openid email profile offline_access';

/** Clients of our own: what they ask for needs no consent, because the person is already where they act. */
export const ownClientIds: readonly string[] = [cliClientId, consoleClientId];

export function ownClients(options: { baseUrl: string; localLogin: 'on' | 'off' }): ClientMetadata[] {
  return [
    {
      client_id: cliClientId,
      client_name: 'svc command line',
      token_endpoint_auth_method: 'none',
      grant_types: [
        'urn:ietf:params:oauth:grant-type:device_code',
        'refresh_token',
        ...(options.localLogin === 'on' ? [localGrantType] : []),
      ],
      response_types: [],
      redirect_uris: [],
      id_token_signed_response_alg: 'ES256',
    },
    {
      client_id: consoleClientId,
      client_name: 'svc',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code'],
      response_types: ['code'],
      redirect_uris: [`${options.baseUrl}/login/done`],
      post_logout_redirect_uris: [`${options.baseUrl}/`],
      id_token_signed_response_alg: 'ES256',
    },
  ];
}
