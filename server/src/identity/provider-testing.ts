import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cliClientId } from '@svc/contract/identity.ts';
import { sql } from 'kysely';
import { Failure, problemResponse } from '../plumbing/problem.ts';
import { silentLog, type TestDatabase, testCaller, testMutation } from '../testing.ts';
import { createUser } from '../users/create-user.ts';
import type { UserRecord } from '../users/rules.ts';
import { createConsoleLogin } from './console-login.ts';
import { createIdentityProvider, type IdentityProviderOptions } from './provider.ts';
import { TestBrowser, type Visit } from './test-browser.ts';

export const testPassword = 'correct horse battery staple';
/** Requests to the test server say where they come from in this header. */
export const testAddressHeader = 'x-test-address';

export interface TestProvider {
  baseUrl: string;
  browser(address?: string): TestBrowser;
  /** Posts a form as a program would. */
  post(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<FormAnswer>;
  /** Whose token it is, by the userinfo endpoint; null when it is good for nothing. */
  userOf(accessToken: string): Promise<string | null>;
  stop(): Promise<void>;
}

export interface FormAnswer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of all shapes.
  body: any;
}

type TestHandle = (request: Request, url: URL, clientAddress: string) => Promise<Response>;

export interface TestServer {
  baseUrl: string;
  answerWith(handle: TestHandle): void;
  stop(): Promise<void>;
}

/** Open before the provider is made: two of them that know each other have to know each other's address. */
export function openTestServer(host = '127.0.0.1'): TestServer {
  let handle: TestHandle = async () => new Response(null, { status: 503 });
  const server = Bun.serve({
    port: 0,
    hostname: host,
    fetch: async (request) => {
      const address = request.headers.get(testAddressHeader) ?? '127.0.0.1';
      try {
        return await handle(request, new URL(request.url), address);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        return problemResponse(error, requestId);
      }
    },
  });
  return {
    baseUrl: `http://${host}:${server.port}`,
    answerWith: (next) => {
      handle = next;
    },
    stop: () => server.stop(true),
  };
}

const requestId = 'test-request';

/** The provider and the pages around it, over HTTP. */
export async function startTestProvider(
  { db }: TestDatabase,
  options: Partial<IdentityProviderOptions> = {},
  server: TestServer = openTestServer(),
): Promise<TestProvider> {
  const { baseUrl } = server;
  const publicUrl = options.baseUrl ?? baseUrl;
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-identity-'));
  const provider = await createIdentityProvider({
    db,
    baseUrl,
    appsDomain: 'apps.localhost',
    dataDir,
    log: silentLog,
    localSecret: null,
    localUser: async () => null,
    ...options,
  });
  const consoleLogin = createConsoleLogin({ baseUrl: publicUrl });
  server.answerWith(async (request, url, clientAddress) => {
    const info = {
      requestId,
      log: silentLog,
      setRoute: () => {},
      clientAddress,
      deadline: new AbortController().signal,
    };
    if (url.pathname.startsWith('/oauth')) return provider.handle(request, url, info);
    if (/^\/(login|login\/done|logout)$/.test(url.pathname)) return consoleLogin(request, url, info);
    return new Response(`home of ${url.pathname}`);
  });
  return {
    baseUrl,
    browser: (address = '127.0.0.1') => new TestBrowser(publicUrl, { [testAddressHeader]: address }, baseUrl),
    async post(path, fields, headers = {}) {
      const body = new URLSearchParams(fields);
      const answer = await fetch(baseUrl + path, { method: 'POST', body, headers, redirect: 'manual' });
      const text = await answer.text();
      const isJson = answer.headers.get('content-type')?.includes('json');
      return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text };
    },
    async userOf(accessToken) {
      const answer = await fetch(`${baseUrl}/oauth/me`, {
        headers: { authorization: `Bearer ${accessToken}` },
      });
      return answer.ok ? ((await answer.json()) as { sub: string }).sub : null;
    },
    async stop() {
      await server.stop();
      await provider.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

let testHash: Promise<string> | undefined;

/** With `testPassword`, hashed at the least cost there is: it is slow on purpose, and tests sign in often. */
export async function newUser(
  { db }: TestDatabase,
  login: 'password' | 'none' = 'password',
): Promise<UserRecord> {
  const email = `user-${randomBytes(6).toString('hex')}@example.test`;
  const operator = testCaller({ kind: 'operator' });
  const { value } = await testMutation(db, operator, (ctx) => createUser(ctx, { email }));
  if (login === 'none') return value;
  testHash ??= Bun.password.hash(testPassword, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 });
  await sql`update svc.users set password_hash = ${await testHash} where id = ${value.id}`.execute(db);
  return value;
}

/** A verifier and its challenge, with the rest of an authorization request. */
export function authorizationRequest(fields: Record<string, string>) {
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    scope: 'openid email profile',
    state: 'some-state',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...fields,
  });
  return { verifier, path: `/oauth/auth?${query}` };
}

/** The first sign-in of a browser, up to the page it wanted. */
export async function signIn(browser: TestBrowser, email: string, returnTo = '/'): Promise<Visit> {
  const page = await browser.open(`/login?return_to=${encodeURIComponent(returnTo)}`);
  return browser.submit(page, '/login', { email, password: testPassword });
}

export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code';

export async function askForDevice(provider: TestProvider) {
  const { body } = await provider.post('/oauth/device/auth', { client_id: cliClientId });
  const poll = () =>
    provider.post('/oauth/token', {
      grant_type: deviceGrantType,
      client_id: cliClientId,
      device_code: body.device_code,
    });
  return { deviceCode: body.device_code as string, userCode: body.user_code as string, body, poll };
}

/** Signs a command-line tool in by the device flow, through the pages. */
export async function signInDevice(provider: TestProvider, browser: TestBrowser) {
  const device = await askForDevice(provider);
  const entry = await browser.open(`/oauth/device?user_code=${device.userCode}`);
  const confirm = await browser.submit(entry, '/oauth/device');
  await browser.submit(confirm, '/oauth/device', { confirm: 'yes' });
  const { body } = await device.poll();
  return { ...device, accessToken: body.access_token as string, refreshToken: body.refresh_token as string };
}

export function refresh(provider: TestProvider, refreshToken: string): Promise<FormAnswer> {
  const fields = { grant_type: 'refresh_token', client_id: cliClientId, refresh_token: refreshToken };
  return provider.post('/oauth/token', fields);
}
