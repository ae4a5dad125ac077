import { afterAll, beforeAll, expect, test } from 'bun:test';
import { CompiledQuery, sql } from 'kysely';
import { createTaggedCache } from '../plumbing/cache.ts';
import { sha256 } from '../plumbing/canonical.ts';
import { type Invalidation, listenForChanges, notifySql } from '../plumbing/invalidation.ts';
import { appTag } from '../tables/catalogue.ts';
import { setMember } from '../tenants/set-member.ts';
import { silentLog, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { suspendUser } from '../users/suspend-user.ts';
import {
  type AppTokens,
  newMemberOf,
  newSignInApp,
  renew,
  type SignInApp,
  signedInBrowser,
  signInToApp,
} from './app-sign-in-testing.ts';
import { type Credential, createFindCredential } from './find-credential.ts';
import { startTestProvider, type TestProvider } from './provider-testing.ts';
import type { TestBrowser } from './test-browser.ts';
import { copyOfServer, heardAfterMs, operator, requestWith, type ServerCopy, testOrigin } from './testing.ts';

let database: TestDatabase;
let provider: TestProvider;
let server: ServerCopy;
let changes: Invalidation;
let findCredential: (request: Request) => Promise<Credential | null>;

beforeAll(async () => {
  database = await testDatabase();
  provider = await startTestProvider(database);
  server = await copyOfServer(database);
  changes = listenForChanges({ url: database.url, log: silentLog });
  findCredential = createFindCredential({
    db: database.db,
    cache: createTaggedCache(changes, { entriesMax: 1_000 }),
    now: () => new Date(),
    origin: testOrigin,
    log: silentLog,
  });
  await changes.start();
});
afterAll(async () => {
  await changes.stop();
  await server.stop();
  await provider.stop();
  await database.close();
});

interface SignedIn {
  app: SignInApp;
  userId: string;
  browser: TestBrowser;
  tokens: AppTokens;
  credential: () => Promise<Credential | null>;
}

/** A member signed in to an app, whose token is in the cache. */
async function signedIn(): Promise<SignedIn> {
  const app = await newSignInApp(database, provider);
  const user = await newMemberOf(database, app);
  const browser = await signedInBrowser(provider, user.email);
  const tokens = await signInToApp(provider, browser, app);
  const credential = () => findCredential(bearer(tokens.accessToken));
  expect((await credential())?.caller.throughApp).toBe(app.id);
  return { app, userId: user.id, browser, tokens, credential };
}

const bearer = (token: string) => requestWith({ authorization: `Bearer ${token}` });

async function endsWithinASecond({ app, tokens, credential }: SignedIn): Promise<void> {
  expect(await heardAfterMs([async () => (await credential()) !== null])).toBeLessThan(1_000);
  expect(await provider.userOf(tokens.accessToken)).toBeNull();
  expect((await renew(provider, app.id, tokens.refreshToken)).status).toBeGreaterThanOrEqual(400);
}

/** Changes an app as its verbs do: the row, and the word that it changed. */
async function changeApp({ id }: SignInApp, change: { record?: string; visibility?: string }): Promise<void> {
  await database.db.transaction().execute(async (tx) => {
    await sql`update svc.apps set visibility = coalesce(${change.visibility ?? null}, visibility),
      record = coalesce(${change.record ?? null}, record) where id = ${id}`.execute(tx);
    await tx.executeQuery(CompiledQuery.raw(notifySql, [appTag(id)]));
  });
}

test("an app's token is its person, for rows and through the app, and nobody at the control plane", async () => {
  const { app, userId, tokens, credential } = await signedIn();
  expect(await credential()).toMatchObject({
    caller: { kind: 'login', userId, throughApp: app.id },
    pat: null,
  });
  const headers = { authorization: `Bearer ${tokens.accessToken}` };
  expect(await server.authenticate(requestWith(headers))).toBeNull();
  for (const path of ['/api/v1/me', `/api/v1/tenants/${app.tenantId}`])
    expect((await server.call(headers, 'GET', path)).status).toBe(401);
});

test('tokens are renewed, each refresh token once; one that turns up again ends them all', async () => {
  const { app, userId, tokens, credential } = await signedIn();
  const renewed = await renew(provider, app.id, tokens.refreshToken);
  expect(renewed.status).toBe(200);
  expect(renewed.body.refresh_token).not.toBe(tokens.refreshToken);
  const fresh = () => findCredential(bearer(renewed.body.access_token));
  expect((await fresh())?.caller).toMatchObject({ userId, throughApp: app.id });
  await sql`update svc.oauth_models set consumed_at = now() - interval '31 seconds'
    where id_hash = ${sha256(tokens.refreshToken)}`.execute(database.db);
  expect((await renew(provider, app.id, tokens.refreshToken)).body.error).toBe('invalid_grant');
  const questions = [credential, fresh].map((ask) => async () => (await ask()) !== null);
  expect(await heardAfterMs(questions)).toBeLessThan(1_000);
});

test('a page that was left while it renewed may ask again; who has the answer it missed is found out', async () => {
  const it = await signedIn();
  const next = (refreshToken: string) => renew(provider, it.app.id, refreshToken);
  const missed = await next(it.tokens.refreshToken);
  const again = await next(it.tokens.refreshToken);
  expect([missed.status, again.status]).toEqual([200, 200]);
  const later = await next(again.body.refresh_token);
  expect(later.status).toBe(200);
  expect((await it.credential())?.caller.throughApp).toBe(it.app.id);
  const other = await signedIn();
  const inUse = await renew(provider, other.app.id, other.tokens.refreshToken);
  expect((await renew(provider, other.app.id, inUse.body.refresh_token)).status).toBe(200);
  expect((await renew(provider, other.app.id, other.tokens.refreshToken)).body.error).toBe('invalid_grant');
  await endsWithinASecond(other);
  // Nobody but a thief can come with the answer that was lost.
  expect((await next(missed.body.refresh_token)).body.error).toBe('invalid_grant');
  expect((await next(later.body.refresh_token)).body.error).toBe('invalid_grant');
  await endsWithinASecond(it);
});

test('signing out of the app by revoking its refresh token ends it within a second, in this browser only', async () => {
  const here = await signedIn();
  const { rows } = await sql<{ email: string }>`
    select email from svc.users where id = ${here.userId}`.execute(database.db);
  const elsewhere = await signedInBrowser(provider, rows[0]!.email);
  const other = await signInToApp(provider, elsewhere, here.app);
  const fields = { client_id: here.app.id, token: here.tokens.refreshToken };
  expect((await provider.post('/oauth/token/revocation', fields)).status).toBe(200);
  await endsWithinASecond(here);
  expect(await findCredential(bearer(other.accessToken))).not.toBeNull();
});

test('signing out of the platform in the browser ends the apps used with it', async () => {
  const it = await signedIn();
  const page = await it.browser.open('/here');
  await it.browser.submit({ ...page, html: '<form method="post" action="/logout"></form>' }, '/logout');
  await endsWithinASecond(it);
});

test("ending the browser's session, or the sign-in to the app, from the list of sessions ends it", async () => {
  for (const kind of ['browser', 'app']) {
    const it = await signedIn();
    const cookie = `svc_session=${it.browser.cookie('svc_session')}`;
    const headers = { cookie, 'sec-fetch-site': 'same-origin' };
    const { body } = await server.call(headers, 'GET', '/api/v1/me/sessions');
    const { id } = body.items.find((session: { kind: string }) => session.kind === kind);
    expect((await server.call(headers, 'DELETE', `/api/v1/me/sessions/${id}`)).status).toBe(204);
    await endsWithinASecond(it);
  }
});

test('a suspended person is out of the app within a second', async () => {
  const it = await signedIn();
  await testMutation(database.db, operator, (ctx) => suspendUser(ctx, { userId: it.userId }));
  await endsWithinASecond(it);
});

test('who leaves the tenant is out of its apps within a second', async () => {
  const it = await signedIn();
  const { tenantId } = it.app;
  await testMutation(database.db, operator, (ctx) =>
    setMember(ctx, { tenantId, userId: it.userId, role: 'none' }),
  );
  await endsWithinASecond(it);
});

test('an app that is deleted, or closed to the person, ends for them within a second', async () => {
  for (const change of [{ record: 'deleted' }, { visibility: 'private' }]) {
    const it = await signedIn();
    await changeApp(it.app, change);
    await endsWithinASecond(it);
  }
});

test('an archived app signs nobody in and renews nothing; who is in may read on until their hour is over', async () => {
  const it = await signedIn();
  await changeApp(it.app, { record: 'archived' });
  expect((await it.credential())?.caller.throughApp).toBe(it.app.id);
  expect((await renew(provider, it.app.id, it.tokens.refreshToken)).status).toBe(401);
});
