import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cliClientId } from '@svc/contract/identity.ts';
import * as openid from 'openid-client';
import { Browser } from './support/browser.ts';
import {
  type App,
  caller,
  done,
  newApp,
  newPasswordUser,
  newTenant,
  type PasswordUser,
  type Person,
  type Tenant,
  withToken,
} from './support/people.ts';
import { answerLogin } from './support/sign-in.ts';
import { until } from './support/until.ts';

const scope = 'openid email profile offline_access';

let t: Tenant;
let user: PasswordUser & Person;
let app: App;
let callback: string;
const callbacks: URL[] = [];
/** A program of somebody else, which receives the redirects. */
const program = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: (request) => {
    callbacks.push(new URL(request.url));
    return new Response('received');
  },
});
beforeAll(async () => {
  t = await newTenant();
  user = await withToken(t.server, await newPasswordUser(t.server, t.id));
  app = await newApp(t, { owner: user });
  callback = `http://127.0.0.1:${program.port}/callback`;
});
afterAll(() => program.stop(true));

/** Finds the server by discovery, and verifies the signatures of ID tokens by its published keys. */
async function discover(clientId: string): Promise<openid.Configuration> {
  const metadata = { id_token_signed_response_alg: 'ES256' };
  const config = await openid.discovery(
    new URL(`${t.server.baseUrl}/oauth`),
    clientId,
    metadata,
    openid.None(),
    { execute: [openid.allowInsecureRequests] },
  );
  openid.enableNonRepudiationChecks(config);
  return config;
}

/** Signs in with a browser, from the URL of the authorization to the redirect; `answer` is the button of the consent. */
async function authorize(
  config: openid.Configuration,
  browser: Browser,
  { answer = 'Allow', person = user }: { answer?: string; person?: PasswordUser } = {},
) {
  const [verifier, nonce, state] = [
    openid.randomPKCECodeVerifier(),
    openid.randomNonce(),
    openid.randomState(),
  ];
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope,
    nonce,
    state,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  let page = await browser.open(url.href);
  if (page.html.includes('name="password"'))
    page = await browser.press(page, 'Sign in', { email: person.email, password: person.password });
  page = await browser.press(page, answer);
  const checks = { pkceCodeVerifier: verifier, expectedNonce: nonce, expectedState: state };
  return { callback: new URL(page.url), checks };
}

async function signIn(
  config: openid.Configuration,
  browser = new Browser(t.server.baseUrl),
  person: PasswordUser = user,
) {
  const { callback, checks } = await authorize(config, browser, { person });
  return openid.authorizationCodeGrant(config, callback, { ...checks, idTokenExpected: true });
}

const works = async (token: string) =>
  (await caller(t.server, { authorization: `Bearer ${token}` })('GET', '/api/v1/me')).status;

/** The error that the server gave, as the package reports it. */
const errorOf = async (answer: Promise<unknown>) =>
  answer.then(
    () => null,
    (error: openid.ResponseBodyError | openid.AuthorizationResponseError) => error.error ?? error.code,
  );

describe('openid-client, a package of others, as an app', () => {
  test('discovers what the server offers', async () => {
    const server = (await discover(app.id)).serverMetadata();
    expect(server.supportsPKCE()).toBe(true);
    expect(server).toMatchObject({
      issuer: `${t.server.baseUrl}/oauth`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    });
    for (const endpoint of [
      server.authorization_endpoint,
      server.token_endpoint,
      server.device_authorization_endpoint,
      server.revocation_endpoint,
      server.introspection_endpoint,
      server.userinfo_endpoint,
      server.end_session_endpoint,
      server.jwks_uri,
    ])
      expect(endpoint).toStartWith(`${t.server.baseUrl}/oauth/`);
  });

  test('signs a person in by code and PKCE; ID token and userinfo name them', async () => {
    const config = await discover(app.id);
    const tokens = await signIn(config);
    expect(tokens.claims()).toMatchObject({ sub: user.id, aud: app.id, iss: `${t.server.baseUrl}/oauth` });
    const info = await openid.fetchUserInfo(config, tokens.access_token, user.id);
    expect(info).toMatchObject({ sub: user.id, email: user.email });
    // The strict check of the package: userinfo of another person is an error.
    expect(await errorOf(openid.fetchUserInfo(config, tokens.access_token, t.member.id))).toBe(
      'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
    );
  });

  test('redeems a code once, with its own verifier, and only for its own state', async () => {
    const config = await discover(app.id);
    const browser = new Browser(t.server.baseUrl);
    const { callback, checks } = await authorize(config, browser);
    const redeem = (more: object) => openid.authorizationCodeGrant(config, callback, { ...checks, ...more });
    expect(await errorOf(redeem({ expectedState: 'another' }))).toBe('OAUTH_INVALID_RESPONSE');
    expect(await errorOf(redeem({ pkceCodeVerifier: openid.randomPKCECodeVerifier() }))).toBe(
      'invalid_grant',
    );
    const tokens = await redeem({});
    expect(await errorOf(redeem({}))).toBe('invalid_grant');
    // A code that is used twice may be stolen: its tokens end (RFC 6749 §4.1.2).
    expect(await errorOf(openid.fetchUserInfo(config, tokens.access_token, user.id))).not.toBeNull();
  });

  test('learns of a refusal, and of a request without PKCE', async () => {
    const config = await discover(app.id);
    const { callback, checks } = await authorize(config, new Browser(t.server.baseUrl), {
      answer: 'Deny',
    });
    expect(await errorOf(openid.authorizationCodeGrant(config, callback, checks))).toBe('access_denied');
    const browser = new Browser(t.server.baseUrl);
    const url = openid.buildAuthorizationUrl(config, { redirect_uri: `${callback.origin}/callback`, scope });
    await browser.open(url.href);
    expect(callbacks.at(-1)?.searchParams.get('error')).toBe('invalid_request');
  });

  test('renews tokens; a refresh token that is used again after its successor ends the sign-in', async () => {
    const config = await discover(app.id);
    const tokens = await signIn(config);
    const second = await openid.refreshTokenGrant(config, tokens.refresh_token!);
    expect(second.claims()?.sub).toBe(user.id);
    expect(second.refresh_token).not.toBe(tokens.refresh_token!);
    await openid.fetchUserInfo(config, second.access_token, user.id);
    const third = await openid.refreshTokenGrant(config, second.refresh_token!);
    for (const { refresh_token } of [tokens, third])
      expect(await errorOf(openid.refreshTokenGrant(config, refresh_token!))).toBe('invalid_grant');
  });

  test('introspects its own access tokens and no others, until they are revoked', async () => {
    const config = await discover(app.id);
    const tokens = await signIn(config);
    expect(await openid.tokenIntrospection(config, tokens.access_token)).toMatchObject({
      active: true,
      sub: user.id,
      client_id: app.id,
      iss: `${t.server.baseUrl}/oauth`,
    });
    const other = await discover((await newApp(t, { owner: user })).id);
    const unknown = { active: false };
    expect(await openid.tokenIntrospection(other, tokens.access_token)).toEqual(unknown);
    for (const token of [user.token, tokens.refresh_token!, 'nonsense'])
      expect(await openid.tokenIntrospection(config, token)).toEqual(unknown);
    // Nor does another client end them.
    await openid.tokenRevocation(other, tokens.refresh_token!).catch(() => {});
    expect((await openid.tokenIntrospection(config, tokens.access_token)).active).toBe(true);

    await openid.tokenRevocation(config, tokens.refresh_token!);
    expect(await openid.tokenIntrospection(config, tokens.access_token)).toEqual(unknown);
    expect(await errorOf(openid.refreshTokenGrant(config, tokens.refresh_token!))).toBe('invalid_grant');
  });

  test('learns by introspection that the app was closed to the person', async () => {
    const config = await discover(app.id);
    const guest = await newPasswordUser(t.server, t.id);
    await done(user.call('POST', `${app.base}/co-owners`, { user_id: guest.id }));
    const tokens = await signIn(config, new Browser(t.server.baseUrl), guest);
    const isActive = async (token: string) => (await openid.tokenIntrospection(config, token)).active;
    expect(await isActive(tokens.access_token)).toBe(true);
    await done(user.call('DELETE', `${app.base}/co-owners/${guest.id}`));
    await until('the token has ended', async () => !(await isActive(tokens.access_token)));
    expect(await errorOf(openid.refreshTokenGrant(config, tokens.refresh_token!))).toBe('invalid_grant');
  });

  test('ends the session of the browser, and the person comes back to the app', async () => {
    const config = await discover(app.id);
    const browser = new Browser(t.server.baseUrl);
    const tokens = await signIn(config, browser);
    const end = (target: string) =>
      openid.buildEndSessionUrl(config, {
        post_logout_redirect_uri: target,
        id_token_hint: tokens.id_token!,
        state: 'after',
      });
    expect((await browser.open(end('https://elsewhere.example/').href)).status).toBe(400);
    const bye = `http://127.0.0.1:${program.port}/bye`;
    const page = await browser.press(await browser.open(end(bye).href), 'Sign out');
    expect([page.url, page.html]).toEqual([`${bye}?state=after`, 'received']);
    await until(
      'the tokens have ended',
      async () => !(await openid.tokenIntrospection(config, tokens.access_token)).active,
    );
    expect(await errorOf(openid.refreshTokenGrant(config, tokens.refresh_token!))).toBe('invalid_grant');
  });
});

describe('openid-client as a device', () => {
  test('signs in after an approval, and not after a denial', async () => {
    const config = await discover(cliClientId);
    const browser = new Browser(t.server.baseUrl);
    const [first, second] = await Promise.all([
      openid.initiateDeviceAuthorization(config, { scope }),
      openid.initiateDeviceAuthorization(config, { scope }),
    ]);
    const codeOf = ({ verification_uri_complete, user_code }: openid.DeviceAuthorizationResponse) => ({
      address: verification_uri_complete!,
      code: user_code,
    });
    await answerLogin(codeOf(first), user, 'Approve', browser);
    await answerLogin(codeOf(second), user, 'Deny', browser);
    const [tokens, denied] = await Promise.all([
      openid.pollDeviceAuthorizationGrant(config, first),
      errorOf(openid.pollDeviceAuthorizationGrant(config, second)),
    ]);
    expect([tokens.claims()?.sub, denied]).toEqual([user.id, 'access_denied']);
    expect(await works(tokens.access_token)).toBe(200);
    expect((await openid.fetchUserInfo(config, tokens.access_token, user.id)).email).toBe(user.email);
    const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token!);
    expect((await openid.tokenIntrospection(config, renewed.access_token)).active).toBe(true);
    await openid.tokenRevocation(config, renewed.refresh_token!);
    expect(await works(renewed.access_token)).toBe(401);
    expect(await openid.tokenIntrospection(config, renewed.access_token)).toEqual({ active: false });
  });
});
