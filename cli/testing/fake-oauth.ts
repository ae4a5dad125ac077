import { localGrantType } from '@svc/contract/identity.ts';
import type { Seen } from './answers.ts';

type Pending = 'authorization_pending' | 'slow_down';
export type DeviceAnswer = Pending | 'access_denied' | 'expired_token' | 'tokens';

export type OAuthState = ReturnType<typeof newOAuthState>;

export function newOAuthState() {
  return {
    tokens: new Set<string>(),
    /** Unused ones: each is valid once. */
    refreshTokens: new Set<string>(),
    /** Answers to polls of a device code, in order; the last one stays. */
    devices: new Map<string, DeviceAnswer[]>(),
    serial: 0,
    accessSeconds: 3600,
  };
}

/** RFC 8628 and 6749 as far as the command-line tool uses them. */
export function fakeOAuth(base: string, state: OAuthState, { path, body }: Seen): Response {
  const form = new URLSearchParams(body);
  switch (path) {
    case '/oauth/.well-known/openid-configuration':
      return Response.json({
        issuer: `${base}/oauth`,
        token_endpoint: `${base}/oauth/token`,
        device_authorization_endpoint: `${base}/oauth/device/auth`,
        revocation_endpoint: `${base}/oauth/token/revocation`,
      });
    case '/oauth/device/auth':
      if (form.get('client_id') !== 'svc-cli')
        return Response.json({ error: 'invalid_client' }, { status: 401 });
      if (!state.devices.has('device-1')) state.devices.set('device-1', ['tokens']);
      return Response.json({
        device_code: 'device-1',
        user_code: 'ABCD-EFGH',
        verification_uri: `${base}/oauth/device`,
        verification_uri_complete: `${base}/oauth/device?user_code=ABCD-EFGH`,
        expires_in: 600,
        interval: 0.01,
      });
    case '/oauth/token':
      return token(state, form);
    case '/oauth/token/revocation':
      state.refreshTokens.delete(form.get('token') ?? '');
      return new Response(null, { status: 200 });
    default:
      return new Response('not here', { status: 404 });
  }
}

function token(state: OAuthState, form: URLSearchParams): Response {
  switch (form.get('grant_type')) {
    case 'refresh_token':
      // A refresh token used twice ends the login, as rotation requires.
      return issue(state, state.refreshTokens.delete(form.get('refresh_token') ?? '') ? 'tokens' : undefined);
    case 'urn:ietf:params:oauth:grant-type:device_code': {
      const answers = state.devices.get(form.get('device_code') ?? '') ?? [];
      return issue(state, answers.length > 1 ? answers.shift() : answers[0]);
    }
    case localGrantType:
      return issue(state, form.get('local_secret') === 'the-secret' ? 'tokens' : undefined);
    default:
      return Response.json({ error: 'unsupported_grant_type' }, { status: 400 });
  }
}

function issue(state: OAuthState, outcome: DeviceAnswer | undefined): Response {
  const error = outcome ?? 'invalid_grant';
  if (error !== 'tokens')
    return Response.json({ error, error_description: `because ${error}` }, { status: 400 });
  state.serial += 1;
  const [access_token, refresh_token] = [`access-${state.serial}`, `refresh-${state.serial}`];
  state.tokens.add(access_token);
  state.refreshTokens.add(refresh_token);
  const kind = { expires_in: state.accessSeconds, token_type: 'Bearer' };
  return Response.json({ access_token, refresh_token, ...kind });
}
