import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { TestDatabase } from '../testing.ts';
import {
  authorizationRequest,
  type FormAnswer,
  newUser,
  signIn,
  type TestProvider,
  testPassword,
} from './provider-testing.ts';
import type { TestBrowser, Visit } from './test-browser.ts';

export interface SignInApp {
  id: string;
  slug: string;
  tenantId: string;
  ownerId: string;
  /** Its own host, with a slash. */
  home: string;
}

export interface AppTokens {
  accessToken: string;
  refreshToken: string;
  idToken: Record<string, unknown>;
}

/** An app with a tenant and an owner of its own. */
export async function newSignInApp(
  database: TestDatabase,
  provider: TestProvider,
  { visibility = 'public', slug = `a-${randomBytes(8).toString('hex')}` } = {},
): Promise<SignInApp> {
  const { db } = database;
  const [id, tenantId] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
  const owner = await newUser(database);
  const tenantSlug = `t-${tenantId.slice(-12)}`;
  await sql`insert into svc.tenants (id, slug, name, created_at)
    values (${tenantId}, ${tenantSlug}, ${tenantSlug}, now())`.execute(db);
  await sql`insert into svc.apps
      (id, tenant_id, slug, subdomain, name, owner_id, owner_since, visibility, created_at, updated_at)
    values (${id}, ${tenantId}, ${slug}, ${slug}, 'Shop <b>', ${owner.id}, now(), ${visibility}, now(), now())`.execute(
    db,
  );
  await join(database, tenantId, owner.id);
  const home = `http://${slug}.apps.localhost:${new URL(provider.baseUrl).port}/`;
  return { id, slug, tenantId, ownerId: owner.id, home };
}

export async function join({ db }: TestDatabase, tenantId: string, userId: string): Promise<void> {
  await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
    values (${tenantId}, ${userId}, 'tenant_member', now())`.execute(db);
}

export async function newMemberOf(database: TestDatabase, app: SignInApp) {
  const user = await newUser(database);
  await join(database, app.tenantId, user.id);
  return user;
}

export const emailOf = async ({ db }: TestDatabase, userId: string) => {
  const { rows } = await sql<{ email: string }>`select email from svc.users where id = ${userId}`.execute(db);
  return rows[0]?.email ?? '';
};

/** A browser in which the person is signed in to the platform. */
export async function signedInBrowser(provider: TestProvider, email: string): Promise<TestBrowser> {
  const browser = provider.browser();
  await signIn(browser, email);
  return browser;
}

/** The sign-in as it begins; where it leads back to is a hop that is not taken. */
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
  const page = await browser.open(request.path, isBack);
  return {
    page,
    verifier: request.verifier,
    redirectUri,
    press: (from: Visit, button: 'confirm' | 'abort') => browser.submit(from, `/${button}`, {}, isBack),
    logIn: (from: Visit, email: string) =>
      browser.submit(from, '/login', { email, password: testPassword }, isBack),
  };
}

export function sentBack(visit: Visit): Record<string, string> {
  if (visit.location === null) throw new Error(`Not sent back, but shown: ${visit.html.slice(0, 2000)}`);
  return Object.fromEntries(new URL(visit.location).searchParams);
}

export function redeem(
  provider: TestProvider,
  fields: { clientId: string; code: string; verifier: string; redirectUri: string },
  headers: Record<string, string> = {},
): Promise<FormAnswer> {
  return provider.post(
    '/oauth/token',
    {
      grant_type: 'authorization_code',
      client_id: fields.clientId,
      code: fields.code,
      code_verifier: fields.verifier,
      redirect_uri: fields.redirectUri,
    },
    headers,
  );
}

export function renew(provider: TestProvider, clientId: string, refreshToken: string): Promise<FormAnswer> {
  const fields = { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken };
  return provider.post('/oauth/token', fields);
}

/** The whole round trip, with consent where it is asked for. */
export async function signInToApp(
  provider: TestProvider,
  browser: TestBrowser,
  app: SignInApp,
): Promise<AppTokens> {
  const begun = await startSignIn(browser, app);
  const done = begun.page.location === null ? await begun.press(begun.page, 'confirm') : begun.page;
  const { code = '' } = sentBack(done);
  const { verifier, redirectUri } = begun;
  const { status, body } = await redeem(provider, { clientId: app.id, code, verifier, redirectUri });
  if (status !== 200) throw new Error(`No tokens: ${JSON.stringify(body)}`);
  const idToken = JSON.parse(Buffer.from(body.id_token.split('.')[1], 'base64url').toString());
  return { accessToken: body.access_token, refreshToken: body.refresh_token, idToken };
}
