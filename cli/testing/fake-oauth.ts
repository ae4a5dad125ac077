import { localGrantType } from '@svc/contract/identity.ts';
import type { Seen } from './fake-server.ts';

export interface OAuthState {
  /** Access tokens that count. */
  tokens: Set<string>;
  /** Refresh tokens that have not been used: each counts once. */
  refreshTokens: Set<string>;
  /** What polling a device code answers, in order; the last one stays. */
  devices: Map<string, DeviceAnswer[]>;
  serial: number;
  accessSeconds: number;
}

export type DeviceAnswer =
  | 'authorization_pending'
  | 'slow_down'
  | 'access_denied'
  | 'expired_token'
  | 'tokens';

/** RFC 8628 and 6749 as far as the command-line tool uses them. */
export function fakeOAuth(base: string, state: OAuthState, seen: Seen): Response {
  const form = new URLSearchParams(seen.body);
  switch (seen.path) {
    case '/oauth/.well-known/openid-configuration':
      return Response.json({
        issuer: `${base}/oauth`,
        token_endpoint: `${base}/oauth/token`,
        device_authorization_endpoint: `${base}/oauth/device/auth`,
        revocation_endpoint: `${base}/oauth/token/revocation`,
      });
    case '/oauth/device/auth':
      return startDevice(base, state, form);
    case '/oauth/token':
      return token(state, form);
    case '/oauth/token/revocation':
      state.refreshTokens.delete(form.get('token') ?? '');
      return new Response(null, { status: 200 });
    default:
      return new Response('not here', { status: 404 });
  }
}

function startDevice(base: string, state: OAuthState, form: URLSearchParams): Response {
  if (form.get('client_id') !== 'svc-cli') return Response.json({ error: 'invalid_client' }, { status: 401 });
  if (!state.devices.has('device-1')) state.devices.set('device-1', ['tokens']);
  return Response.json({
    device_code: 'device-1',
    user_code: 'ABCD-EFGH',
    verification_uri: `${base}/oauth/device`,
    verification_uri_complete: `${base}/oauth/device?user_code=ABCD-EFGH`,
    expires_in: 600,
    interval: 0.01,
  });
}

function token(state: OAuthState, form: URLSearchParams): Response {
  switch (form.get('grant_type')) {
    case 'refresh_token':
      // A refresh token used twice ends the login, as it must with rotation.
      if (!state.refreshTokens.delete(form.get('refresh_token') ?? '')) return refused('invalid_grant');
      return issue(state);
    case 'urn:ietf:params:oauth:grant-type:device_code': {
      const answers = state.devices.get(form.get('device_code') ?? '');
      const next = answers !== undefined && answers.length > 1 ? answers.shift() : answers?.[0];
      return next === 'tokens' ? issue(state) : refused(next ?? 'invalid_grant');
    }
    case localGrantType:
      return form.get('local_secret') === 'the-secret' ? issue(state) : refused('invalid_grant');
    default:
      return refused('unsupported_grant_type');
  }
}

export function issue(state: OAuthState): Response {
  state.serial += 1;
  state.tokens.add(`access-${state.serial}`);
  state.refreshTokens.add(`refresh-${state.serial}`);
  return Response.json({
    access_token: `access-${state.serial}`,
    refresh_token: `refresh-${state.serial}`,
    expires_in: state.accessSeconds,
    token_type: 'Bearer',
  });
}

function refused(error: string): Response {
  return Response.json({ error, error_description: `because ${error}` }, { status: 400 });
}
