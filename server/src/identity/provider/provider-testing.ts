import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cliClientId } from '@svc/contract/identity.ts';
import { sql } from 'kysely';
import { useFixture } from '../../../../scripts/use-fixture.ts';
import { loadKey } from '../../core/keys.ts';
import { Failure, problemResponse } from '../../core/problem.ts';
import { createIssuerKeys } from '../../drivers/oidc/issuer-keys.ts';
import type { UserRecord } from '../../people/users/users.ts';
import {
  newTenant,
  newUser as newUserWithoutPassword,
  silentLog,
  type TestDatabase,
  testDeps,
  testEvents,
  testRequestInfo,
  useTestDatabase,
} from '../../testing.ts';
import { TestBrowser, type Visit } from './browser-testing.ts';
import { createConsoleLogin } from './console-login.ts';
import { createIdentityProvider, type IdentityProviderOptions } from './provider.ts';
import { oauthCookieKey, oauthSigningKey } from './provider-config.ts';
import { createResetPages } from './reset-pages.ts';

export const testPassword = 'correct horse battery staple';
/** Sets the client address of a request to the test server. */
export const testAddressHeader = 'x-test-address';

type Fields = Record<string, string>;

/** Opened before the provider: two providers that use each other need each other's URL. */
export function openTestServer(hostname = '127.0.0.1') {
  let handle = async (_request: Request, _url: URL) => new Response(null, { status: 503 });
  const server = Bun.serve({
    port: 0,
    hostname,
    fetch: (request) =>
      handle(request, new URL(request.url)).catch((error: unknown) => {
        if (error instanceof Failure) return problemResponse(error, testRequestInfo.requestId);
        throw error;
      }),
  });
  return {
    baseUrl: `http://${hostname}:${server.port}`,
    answerWith: (next: typeof handle) => {
      handle = next;
    },
    stop: () => server.stop(true),
  };
}

export type TestProvider = Awaited<ReturnType<typeof startTestProvider>>;

export async function startTestProvider(
  { db }: TestDatabase,
  options: Partial<IdentityProviderOptions> = {},
  server = openTestServer(),
) {
  const { baseUrl } = server;
  const publicUrl = options.baseUrl ?? baseUrl;
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-identity-'));
  const provider = await createIdentityProvider({
    db,
    events: testEvents,
    baseUrl,
    appsDomain: 'apps.localhost',
    dataDir,
    log: silentLog,
    keys: { signing: await loadKey(db, oauthSigningKey), cookies: await loadKey(db, oauthCookieKey) },
    issuers: createIssuerKeys({ trusted: [], now: Date.now }),
    localSecret: null,
    localUser: async () => null,
    localPasswords: 'on',
    canResetPassword: true,
    ...options,
  });
  const consoleLogin = createConsoleLogin({ baseUrl: publicUrl, db });
  const resetPages = createResetPages({ ...testDeps, db, baseUrl: publicUrl, canResetPassword: true });
  server.answerWith(async (request, url) => {
    const clientAddress = request.headers.get(testAddressHeader) ?? '127.0.0.1';
    const info = { ...testRequestInfo, clientAddress };
    if (url.pathname.startsWith('/oauth')) return provider.handle(request, url, info);
    if (/^\/(login|login\/done|logout)$/.test(url.pathname)) return consoleLogin(request, url, info);
    if (/^\/login\/(forgot|reset)$/.test(url.pathname)) return resetPages(request, url, info);
    return new Response(`home of ${url.pathname}`);
  });
  return {
    baseUrl,
    browser: (address = '127.0.0.1') => new TestBrowser(publicUrl, { [testAddressHeader]: address }, baseUrl),
    async post(path: string, fields: Fields, headers: Fields = {}) {
      const body = new URLSearchParams(fields);
      const answer = await fetch(baseUrl + path, { method: 'POST', body, headers, redirect: 'manual' });
      const isJson = answer.headers.get('content-type')?.includes('json');
      const { status, headers: received } = answer;
      return { status, headers: received, body: isJson ? await answer.json() : await answer.text() };
    },
    /** Null for an invalid token. */
    async userOf(accessToken: string): Promise<string | null> {
      const headers = { authorization: `Bearer ${accessToken}` };
      const answer = await fetch(`${baseUrl}/oauth/me`, { headers });
      return answer.ok ? (await answer.json()).sub : null;
    },
    async stop() {
      await server.stop();
      await provider.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A database and an OpenID provider for one test file: opened before its tests, closed after them. */
export function useProvider(options?: Partial<IdentityProviderOptions>) {
  const database = useTestDatabase();
  const provider = useFixture(
    () => startTestProvider(database, options),
    (it) => it.stop(),
  );
  return { database, provider };
}

let testHash: Promise<string> | undefined;

/** Has `testPassword`, hashed at minimum cost to keep the tests fast. */
export async function newUser(
  { db }: TestDatabase,
  login: 'password' | 'none' = 'password',
  tenantId: string | null = null,
): Promise<UserRecord> {
  const { userId: id, email, name } = await newUserWithoutPassword(db, tenantId);
  testHash ??= Bun.password.hash(testPassword, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 });
  const hash = login === 'password' ? await testHash : null;
  await sql`update svc.users set password_hash = ${hash} where id = ${id}`.execute(db);
  return { id, email, name, status: 'active' };
}

export function authorizationRequest(fields: Fields) {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    scope: 'openid email profile',
    state: 'some-state',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...fields,
  });
  return { verifier, path: `/oauth/auth?${query}` };
}

export async function signIn(browser: TestBrowser, email: string, returnTo = '/'): Promise<Visit> {
  const page = await browser.open(`/login?return_to=${encodeURIComponent(returnTo)}`);
  return browser.submit(page, '/login', { email, password: testPassword });
}

export async function signedInBrowser(provider: TestProvider, email: string): Promise<TestBrowser> {
  const browser = provider.browser();
  await signIn(browser, email);
  return browser;
}

export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code';

export async function requestDeviceCode(provider: TestProvider) {
  const { body } = await provider.post('/oauth/device/auth', { client_id: cliClientId });
  const fields = { grant_type: deviceGrantType, client_id: cliClientId, device_code: body.device_code };
  const poll = (at = provider) => at.post('/oauth/token', fields);
  return { deviceCode: body.device_code as string, userCode: body.user_code as string, body, poll };
}

export async function approveDevice(browser: TestBrowser, userCode: string): Promise<void> {
  const entry = await browser.open(`/oauth/device?user_code=${userCode}`);
  const confirm = await browser.submit(entry, '/oauth/device');
  await browser.submit(confirm, '/oauth/device', { confirm: 'yes' });
}

export async function signInDevice(provider: TestProvider, browser: TestBrowser) {
  const device = await requestDeviceCode(provider);
  await approveDevice(browser, device.userCode);
  const { body } = await device.poll();
  return { ...device, accessToken: body.access_token as string, refreshToken: body.refresh_token as string };
}

export function refresh(provider: TestProvider, refreshToken: string, clientId = cliClientId) {
  const fields = { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken };
  return provider.post('/oauth/token', fields);
}

export type SignInApp = Awaited<ReturnType<typeof newSignInApp>>;
export type AppTokens = Awaited<ReturnType<typeof signInToApp>>;

export async function newSignInApp(
  database: TestDatabase,
  provider: TestProvider,
  { visibility = 'public' } = {},
) {
  const { tenant } = await newTenant(database.db);
  const owner = await newUser(database, 'password', tenant.id);
  const id = Bun.randomUUIDv7();
  const slug = `a-${id.slice(-12)}`;
  await sql`insert into svc.apps
      (id, tenant_id, slug, subdomain, name, owner_id, owner_since, visibility, created_at, updated_at)
    values (${id}, ${tenant.id}, ${slug}, ${slug}, 'Shop <b>', ${owner.id}, now(), ${visibility}, now(), now())`.execute(
    database.db,
  );
  const home = `http://${slug}.apps.localhost:${new URL(provider.baseUrl).port}/`;
  return { id, slug, tenantId: tenant.id, ownerId: owner.id, ownerEmail: owner.email, home };
}

export function newMemberOf(database: TestDatabase, app: SignInApp) {
  return newUser(database, 'password', app.tenantId);
}

export async function startSignIn(
  browser: TestBrowser,
  app: SignInApp,
  { redirectUri = app.home, ...fields }: { redirectUri?: string; prompt?: string; scope?: string } = {},
) {
  const request = authorizationRequest({
    client_id: app.id,
    redirect_uri: redirectUri,
    scope: 'openid email profile offline_access',
    nonce: 'some-nonce',
    ...fields,
  });
  const isBack = (url: URL) => url.href.startsWith(redirectUri);
  return {
    page: await browser.open(request.path, isBack),
    verifier: request.verifier,
    press: (from: Visit, button: 'confirm' | 'abort') => browser.submit(from, `/${button}`, {}, isBack),
    logIn: (from: Visit, email: string) =>
      browser.submit(from, '/login', { email, password: testPassword }, isBack),
  };
}

/** The parameters that the browser brings back to the app. */
export function callbackParams(visit: Visit): Fields {
  if (visit.location === null) throw new Error(`Shown instead of a redirect: ${visit.html.slice(0, 2000)}`);
  return Object.fromEntries(new URL(visit.location).searchParams);
}

export function redeem(
  provider: TestProvider,
  { clientId: client_id, code, verifier: code_verifier, redirectUri: redirect_uri }: Redeemed,
  headers: Fields = {},
) {
  const form = { grant_type: 'authorization_code', client_id, code, code_verifier, redirect_uri };
  return provider.post('/oauth/token', form, headers);
}

type Redeemed = Record<'clientId' | 'code' | 'verifier' | 'redirectUri', string>;

export async function signInToApp(provider: TestProvider, browser: TestBrowser, app: SignInApp) {
  const { page, press, verifier } = await startSignIn(browser, app);
  const { code = '' } = callbackParams(page.location === null ? await press(page, 'confirm') : page);
  const redeemed = { clientId: app.id, code, verifier, redirectUri: app.home };
  const { status, body } = await redeem(provider, redeemed);
  if (status !== 200) throw new Error(`No tokens: ${JSON.stringify(body)}`);
  return { accessToken: body.access_token as string, refreshToken: body.refresh_token as string };
}
