import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cliClientId } from '@svc/contract/identity.ts';
import * as openid from 'openid-client';
import { TestBrowser } from '../server/src/identity/provider/browser-testing.ts';
import {
  authorize,
  discover,
  openidErrorOf,
  openidScope,
  signInByCode,
  startProgram,
} from './support/openid.ts';
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

let t: Tenant;
let user: PasswordUser & Person;
let app: App;
const program = startProgram();
const { callback } = program;
beforeAll(async () => {
  t = await newTenant();
  user = await withToken(t.server, await newPasswordUser(t.server, t.id));
  app = await newApp(t, { owner: user });
});
afterAll(() => program.stop());

const discoverAs = (clientId: string) => discover(t.server, clientId);
const signIn = (
  config: openid.Configuration,
  browser = new TestBrowser(t.server.baseUrl),
  person: PasswordUser = user,
) => signInByCode(config, { browser, callback, person });

const works = async (token: string) =>
  (await caller(t.server, { authorization: `Bearer ${token}` })('GET', '/api/v1/me')).status;

describe('openid-client, a package of others, as an app', () => {
  test('discovers what the server offers', async () => {
    const server = (await discoverAs(app.id)).serverMetadata();
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
    const config = await discoverAs(app.id);
    const tokens = await signIn(config);
    expect(tokens.claims()).toMatchObject({ sub: user.id, aud: app.id, iss: `${t.server.baseUrl}/oauth` });
    const info = await openid.fetchUserInfo(config, tokens.access_token, user.id);
    expect(info).toMatchObject({ sub: user.id, email: user.email });
    // The strict check of the package: userinfo of another person is an error.
    expect(await openidErrorOf(openid.fetchUserInfo(config, tokens.access_token, t.member.id))).toBe(
      'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
    );
  });

  test('redeems a code once, with its own verifier, and only for its own state', async () => {
    const config = await discoverAs(app.id);
    const browser = new TestBrowser(t.server.baseUrl);
    const { callback: redirect, checks } = await authorize(config, { browser, callback, person: user });
    const redeem = (more: object) => openid.authorizationCodeGrant(config, redirect, { ...checks, ...more });
    expect(await openidErrorOf(redeem({ expectedState: 'another' }))).toBe('OAUTH_INVALID_RESPONSE');
    expect(await openidErrorOf(redeem({ pkceCodeVerifier: openid.randomPKCECodeVerifier() }))).toBe(
      'invalid_grant',
    );
    const tokens = await redeem({});
    expect(await openidErrorOf(redeem({}))).toBe('invalid_grant');
    // A code that is used twice may be stolen: its tokens end (RFC 6749 §4.1.2).
    expect(await openidErrorOf(openid.fetchUserInfo(config, tokens.access_token, user.id))).not.toBeNull();
  });

  test('learns of a refusal, and of a request without PKCE', async () => {
    const config = await discoverAs(app.id);
    const browser = new TestBrowser(t.server.baseUrl);
    const { callback: redirect, checks } = await authorize(config, {
      browser,
      callback,
      person: user,
      answer: 'Deny',
    });
    expect(await openidErrorOf(openid.authorizationCodeGrant(config, redirect, checks))).toBe(
      'access_denied',
    );
    const url = openid.buildAuthorizationUrl(config, { redirect_uri: callback, scope: openidScope });
    await new TestBrowser(t.server.baseUrl).open(url.href);
    expect(program.callbacks.at(-1)?.searchParams.get('error')).toBe('invalid_request');
  });

  test('renews tokens; a refresh token that is used again after its successor ends the sign-in', async () => {
    const config = await discoverAs(app.id);
    const tokens = await signIn(config);
    const second = await openid.refreshTokenGrant(config, tokens.refresh_token!);
    expect(second.claims()?.sub).toBe(user.id);
    expect(second.refresh_token).not.toBe(tokens.refresh_token!);
    await openid.fetchUserInfo(config, second.access_token, user.id);
    const third = await openid.refreshTokenGrant(config, second.refresh_token!);
    for (const { refresh_token } of [tokens, third])
      expect(await openidErrorOf(openid.refreshTokenGrant(config, refresh_token!))).toBe('invalid_grant');
  });

  test('introspects its own access tokens and no others, until they are revoked', async () => {
    const config = await discoverAs(app.id);
    const tokens = await signIn(config);
    expect(await openid.tokenIntrospection(config, tokens.access_token)).toMatchObject({
      active: true,
      sub: user.id,
      client_id: app.id,
      iss: `${t.server.baseUrl}/oauth`,
    });
    const other = await discoverAs((await newApp(t, { owner: user })).id);
    const unknown = { active: false };
    expect(await openid.tokenIntrospection(other, tokens.access_token)).toEqual(unknown);
    for (const token of [user.token, tokens.refresh_token!, 'nonsense'])
      expect(await openid.tokenIntrospection(config, token)).toEqual(unknown);
    // Nor does another client end them.
    await openid.tokenRevocation(other, tokens.refresh_token!).catch(() => {});
    expect((await openid.tokenIntrospection(config, tokens.access_token)).active).toBe(true);

    await openid.tokenRevocation(config, tokens.refresh_token!);
    expect(await openid.tokenIntrospection(config, tokens.access_token)).toEqual(unknown);
    expect(await openidErrorOf(openid.refreshTokenGrant(config, tokens.refresh_token!))).toBe(
      'invalid_grant',
    );
  });

  test('learns by introspection that the app was closed to the person', async () => {
    const config = await discoverAs(app.id);
    const guest = await newPasswordUser(t.server, t.id);
    await done(user.call('POST', `${app.base}/co-owners`, { user_id: guest.id }));
    const tokens = await signIn(config, new TestBrowser(t.server.baseUrl), guest);
    const isActive = async (token: string) => (await openid.tokenIntrospection(config, token)).active;
    expect(await isActive(tokens.access_token)).toBe(true);
    await done(user.call('DELETE', `${app.base}/co-owners/${guest.id}`));
    await until('the token has ended', async () => !(await isActive(tokens.access_token)));
    expect(await openidErrorOf(openid.refreshTokenGrant(config, tokens.refresh_token!))).toBe(
      'invalid_grant',
    );
  });

  test('ends the session of the browser, and the person comes back to the app', async () => {
    const config = await discoverAs(app.id);
    const browser = new TestBrowser(t.server.baseUrl);
    const tokens = await signIn(config, browser);
    const end = (target: string) =>
      openid.buildEndSessionUrl(config, {
        post_logout_redirect_uri: target,
        id_token_hint: tokens.id_token!,
        state: 'after',
      });
    expect((await browser.open(end('https://elsewhere.example/').href)).status).toBe(400);
    const bye = `${program.origin}/bye`;
    const page = await browser.press(await browser.open(end(bye).href), 'Sign out');
    expect([page.url, page.html]).toEqual([`${bye}?state=after`, 'received']);
    await until(
      'the tokens have ended',
      async () => !(await openid.tokenIntrospection(config, tokens.access_token)).active,
    );
    expect(await openidErrorOf(openid.refreshTokenGrant(config, tokens.refresh_token!))).toBe(
      'invalid_grant',
    );
  });
});

describe('openid-client as a device', () => {
  test('signs in after an approval, and not after a denial', async () => {
    const config = await discoverAs(cliClientId);
    const browser = new TestBrowser(t.server.baseUrl);
    const [first, second] = await Promise.all([
      openid.initiateDeviceAuthorization(config, { scope: openidScope }),
      openid.initiateDeviceAuthorization(config, { scope: openidScope }),
    ]);
    const codeOf = ({ verification_uri_complete, user_code }: openid.DeviceAuthorizationResponse) => ({
      address: verification_uri_complete!,
      code: user_code,
    });
    await answerLogin(codeOf(first), user, 'Approve', browser);
    await answerLogin(codeOf(second), user, 'Deny', browser);
    const [tokens, denied] = await Promise.all([
      openid.pollDeviceAuthorizationGrant(config, first),
      openidErrorOf(openid.pollDeviceAuthorizationGrant(config, second)),
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
