import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sha256 } from '../../core/values.ts';
import { type TestDatabase, testDatabase } from '../../testing.ts';
import { consoleClientId } from '../sessions/clients.ts';
import { findSignIn } from '../sessions/sessions.ts';
import {
  authorizationRequest,
  newUser,
  openTestServer,
  signIn,
  startTestProvider,
  type TestProvider,
  testPassword,
} from './provider-testing.ts';

let database: TestDatabase;
let provider: TestProvider;
const printed: string[] = [];
const console_ = { warn: console.warn, info: console.info };

beforeAll(async () => {
  console.warn = (...args) => void printed.push(args.join(' '));
  console.info = (...args) => void printed.push(args.join(' '));
  database = await testDatabase();
  provider = await startTestProvider(database, {
    extraClients: [
      {
        client_id: 'shop',
        client_name: 'Shop <b>',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: ['https://shop.example.test/back'],
      },
    ],
  });
});
afterAll(async () => {
  Object.assign(console, console_);
  await provider.stop();
  await database.close();
});

const back = (url: URL) => url.pathname === '/login/done' || url.hostname === 'shop.example.test';
const consoleRequest = (fields: Record<string, string> = {}) =>
  authorizationRequest({
    client_id: consoleClientId,
    redirect_uri: `${provider.baseUrl}/login/done`,
    ...fields,
  });

test('a code is exchanged once for a token that identifies the user', async () => {
  const user = await newUser(database);
  const browser = provider.browser();
  const request = consoleRequest();
  const page = await browser.open(request.path);
  expect(page.html).toContain('to continue to <strong>svc</strong>');
  const done = await browser.submit(page, '/login', { email: user.email, password: testPassword }, back);
  const callback = new URL(done.location ?? '');
  expect(callback.searchParams.get('state')).toBe('some-state');
  const fields = {
    grant_type: 'authorization_code',
    client_id: consoleClientId,
    redirect_uri: `${provider.baseUrl}/login/done`,
    code: callback.searchParams.get('code') ?? '',
  };
  const redeem = (code_verifier: string) => provider.post('/oauth/token', { ...fields, code_verifier });
  expect((await redeem('x'.repeat(43))).body.error).toBe('invalid_grant');
  const tokens = await redeem(request.verifier);
  expect(tokens.status).toBe(200);
  expect(tokens.body).toMatchObject({ token_type: 'Bearer', expires_in: 3600 });
  expect(tokens.body.refresh_token).toBeUndefined();
  expect(await provider.userOf(tokens.body.access_token)).toBe(user.id);
  expect((await redeem(request.verifier)).body.error).toBe('invalid_grant');
  // A code used twice was stolen: its tokens are revoked.
  expect(await provider.userOf(tokens.body.access_token)).toBeNull();
});

test('a request without PKCE, or for an unregistered redirect URI, is refused', async () => {
  const without = new URLSearchParams(consoleRequest().path.split('?')[1]);
  without.delete('code_challenge');
  without.delete('code_challenge_method');
  const browser = provider.browser();
  const refused = await browser.open(`/oauth/auth?${without}`, back);
  expect(new URL(refused.location ?? '').searchParams.get('error')).toBe('invalid_request');
  const elsewhere = await browser.open(consoleRequest({ redirect_uri: 'https://evil.example.test/' }).path);
  expect(elsewhere.status).toBe(400);
  expect(elsewhere.html).toContain('This request is not valid');
  expect(elsewhere.html).toContain('<code>test</code>');
});

test('a wrong password, an unknown address and a user without a password get the same page', async () => {
  const user = await newUser(database);
  const withoutPassword = await newUser(database, 'none');
  const pages = [];
  for (const email of [user.email, 'nobody@example.test', withoutPassword.email]) {
    const browser = provider.browser();
    const page = await browser.open(consoleRequest().path);
    const refused = await browser.submit(page, '/login', { email, password: 'not it' });
    expect(refused.status).toBe(401);
    expect(browser.cookie('svc_session')).toBeUndefined();
    const uid = new URL(page.url).pathname.split('/').at(-1) ?? '';
    pages.push(refused.html.replaceAll(uid, 'UID').replaceAll(email, 'EMAIL'));
  }
  expect(pages[1]).toBe(pages[0] ?? '');
  expect(pages[2]).toBe(pages[0] ?? '');
});

test('pages run no scripts, cannot be framed, and forms post to us or the requesting app only', async () => {
  const browser = provider.browser();
  const { path } = authorizationRequest({
    client_id: 'shop',
    redirect_uri: 'https://shop.example.test/back',
  });
  const page = await browser.open(path);
  const policy = page.headers.get('content-security-policy') ?? '';
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[^ ]+'; form-action 'self' https:\/\/shop\.example\.test;/,
  );
  expect(policy).toContain("frame-ancestors 'none'");
  expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  expect(page.headers.get('x-content-type-options')).toBe('nosniff');
  expect(page.html).not.toContain('<script');
  expect(page.html).toContain('Shop &#60;b&#62;');
});

test('an app asks for consent once per session, with its name and scopes', async () => {
  const user = await newUser(database);
  const browser = provider.browser();
  await signIn(browser, user.email);
  const request = () =>
    authorizationRequest({ client_id: 'shop', redirect_uri: 'https://shop.example.test/back' });
  const page = await browser.open(request().path, back);
  expect(page.html).toContain('Allow Shop &#60;b&#62;?');
  expect(page.html).toContain(user.email);
  expect(page.html).toContain('See your e-mail address');
  const done = await browser.submit(page, '/confirm', {}, back);
  expect(new URL(done.location ?? '').searchParams.has('code')).toBe(true);
  const second = await browser.open(request().path, back);
  expect(new URL(second.location ?? '').searchParams.has('code')).toBe(true);
});

test("a third-party client's token identifies the user but is no platform login; our own client's is", async () => {
  const user = await newUser(database);
  const browser = provider.browser();
  await signIn(browser, user.email);
  const tokenFor = async (client_id: string, redirect_uri: string) => {
    const request = authorizationRequest({ client_id, redirect_uri });
    const page = await browser.open(request.path, back);
    const done = page.location === null ? await browser.submit(page, '/confirm', {}, back) : page;
    const code = new URL(done.location ?? '').searchParams.get('code') ?? '';
    const fields = { grant_type: 'authorization_code', client_id, redirect_uri, code };
    const { body } = await provider.post('/oauth/token', { ...fields, code_verifier: request.verifier });
    return body.access_token as string;
  };
  const loginUser = async (token: string) =>
    (await findSignIn(database.db, { kind: 'login', hash: sha256(token) }))?.userId ?? null;
  const ofApp = await tokenFor('shop', 'https://shop.example.test/back');
  expect(await provider.userOf(ofApp)).toBe(user.id);
  expect(await loginUser(ofApp)).toBeNull();
  expect(await loginUser(await tokenFor(consoleClientId, `${provider.baseUrl}/login/done`))).toBe(user.id);
});

test('an app that is denied gets access_denied', async () => {
  const user = await newUser(database);
  const browser = provider.browser();
  await signIn(browser, user.email);
  const { path } = authorizationRequest({
    client_id: 'shop',
    redirect_uri: 'https://shop.example.test/back',
  });
  const done = await browser.submit(await browser.open(path), '/abort', {}, back);
  expect(new URL(done.location ?? '').searchParams.get('error')).toBe('access_denied');
});

test('a form sent from another site is refused', async () => {
  const page = await provider.browser().open(consoleRequest().path);
  const send = (headers: Record<string, string>) =>
    provider.post(`${new URL(page.url).pathname}/login`, { email: 'a@b', password: 'c' }, headers);
  expect((await send({ origin: 'https://evil.example.test' })).status).toBe(403);
  expect((await send({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  // A page is bound to its cookie.
  expect((await send({})).status).toBe(400);
});

test('signing in as another user ends the previous session', async () => {
  const [first, second] = [await newUser(database), await newUser(database)];
  const browser = provider.browser();
  await signIn(browser, first.email);
  const before = browser.cookie('svc_session');
  const page = await browser.open(consoleRequest({ prompt: 'login' }).path);
  // Not started at /login, which would end the session for its state.
  const isDone = (url: URL) => url.pathname === '/login/done';
  await browser.submit(page, '/login', { email: second.email, password: testPassword }, isDone);
  const after = browser.cookie('svc_session');
  expect(after).not.toBe(before);
  expect(await sessionUser(before)).toBeNull();
  expect(await sessionUser(after)).toBe(second.id);
});

test('the session cookie is host-only, HttpOnly and SameSite=Lax', async () => {
  const user = await newUser(database);
  const browser = provider.browser();
  await signIn(browser, user.email);
  const cookie = browser.cookies.find(({ name }) => name === 'svc_session');
  expect(cookie?.path).toBe('/');
  expect(cookie?.attributes).toMatch(/samesite=lax; httponly/);
  expect(cookie?.attributes).not.toMatch(/domain|secure/i);
});

test('behind TLS, cookies are secure and every URL is public', async () => {
  const server = openTestServer();
  const behind = await startTestProvider(database, { baseUrl: 'https://svc.example.test' }, server);
  const { path } = authorizationRequest({
    client_id: consoleClientId,
    redirect_uri: 'https://svc.example.test/login/done',
  });
  const answer = await fetch(server.baseUrl + path, { redirect: 'manual' });
  expect(answer.status).toBe(303);
  expect(answer.headers.getSetCookie().length).toBe(5);
  for (const cookie of answer.headers.getSetCookie()) expect(cookie).toContain('; secure; httponly');
  const discovery = await (await fetch(`${server.baseUrl}/oauth/.well-known/openid-configuration`)).json();
  expect(discovery.token_endpoint).toBe('https://svc.example.test/oauth/token');
  expect(discovery.device_authorization_endpoint).toBe('https://svc.example.test/oauth/device/auth');
  await behind.stop();
});

test('behind TLS, a cookie that a sibling host has set is ignored', async () => {
  const behind = await startTestProvider(database, { baseUrl: 'https://svc.example.test' });
  const user = await newUser(database);
  const browser = behind.browser();
  await signIn(browser, user.email);
  const cookie = browser.cookies.find(({ name }) => name === '__Host-svc_session');
  expect(cookie?.path).toBe('/');
  expect(cookie?.attributes).toMatch(/secure; httponly/);
  expect(cookie?.attributes).not.toMatch(/domain/i);
  for (const name of ['svc_session', 'svc_session.sig', '__Secure-svc_session']) {
    browser.cookies.unshift({ host: 'svc.example.test', name, value: 'planted', path: '/', attributes: '' });
  }
  const page = await browser.open('/oauth/device');
  expect(new URL(page.url).pathname).toBe('/oauth/device');
  expect(await sessionUser(browser.cookie('__Host-svc_session'))).toBe(user.id);

  const out = await browser.submit(
    { ...page, html: '<form method="post" action="/logout"></form>' },
    '/logout',
  );
  expect(out.html).toBe('home of /');
  expect(browser.cookie('__Host-svc_session')).toBeUndefined();
  expect(await sessionUser(cookie?.value)).toBeNull();
  await behind.stop();
});

test('CORS allows redeeming codes from the origin of the public client only', async () => {
  const fields = {
    grant_type: 'authorization_code',
    client_id: 'shop',
    code: 'x',
    redirect_uri: 'https://shop.example.test/back',
  };
  const own = await provider.post('/oauth/token', fields, { origin: 'https://shop.example.test' });
  expect(own.headers.get('access-control-allow-origin')).toBe('https://shop.example.test');
  expect(own.body.error).toBe('invalid_grant');
  const other = await provider.post('/oauth/token', fields, { origin: 'https://evil.example.test' });
  expect(other.headers.get('access-control-allow-origin')).toBeNull();
  expect(other.body.error).toBe('invalid_request');
});

test('an unknown path is a page for browsers and a problem document for programs', async () => {
  const asPerson = await provider.browser().open('/oauth/nowhere');
  expect(asPerson.status).toBe(404);
  expect(asPerson.html).toContain('Not found');
  const asProgram = await fetch(`${provider.baseUrl}/oauth/nowhere`, {
    headers: { accept: 'application/json' },
  });
  expect(await asProgram.json()).toMatchObject({ status: 404, code: 'not_found' });
});

test('a body that is too large and registration are refused, and introspection without a known client', async () => {
  const large = await provider.post('/oauth/token', { grant_type: 'x'.repeat(70_000) });
  expect(large.status).toBe(413);
  const introspect = (fields: Record<string, string>) => provider.post('/oauth/token/introspection', fields);
  expect((await introspect({ token: 'x' })).status).toBe(400);
  expect((await introspect({ token: 'x', client_id: 'nobody' })).status).toBe(401);
  expect((await introspect({ token: 'x', client_id: consoleClientId })).body).toEqual({ active: false });
  expect((await provider.post('/oauth/reg', {})).status).toBe(404);
});

test('signing out at the provider asks for confirmation and ends the session', async () => {
  const user = await newUser(database);
  const browser = provider.browser();
  await signIn(browser, user.email);
  const cookie = browser.cookie('svc_session');
  const page = await browser.open('/oauth/session/end');
  expect(page.html).toContain('Sign out?');
  const done = await browser.submit(page, '/session/end/confirm', { logout: 'yes' });
  expect(done.html).toContain('You are signed out');
  expect(await sessionUser(cookie)).toBeNull();
  // The provider would continue by script; our page has a button.
  expect((await browser.open('/oauth/session/end')).html).toContain('One more step');
});

test('servers that start concurrently sign with the same keys', async () => {
  const others = await Promise.all([startTestProvider(database), startTestProvider(database)]);
  const keys = await Promise.all(
    [provider, ...others].map(async ({ baseUrl }) => (await fetch(`${baseUrl}/oauth/jwks`)).text()),
  );
  expect(new Set(keys).size).toBe(1);
  expect(JSON.parse(keys[0] ?? '').keys.map((key: { alg: string }) => key.alg)).toEqual(['ES256', 'RS256']);
  expect(keys[0]).not.toContain('"d"');
  for (const other of others) await other.stop();
});

test('the OpenID library prints nothing', () => {
  expect(printed.filter((line) => line.includes('oidc-provider'))).toEqual([]);
});

async function sessionUser(cookie: string | undefined): Promise<string | null> {
  return (await findSignIn(database.db, { kind: 'session', hash: sha256(cookie ?? '') }))?.userId ?? null;
}
