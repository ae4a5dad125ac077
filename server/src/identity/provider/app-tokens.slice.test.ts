import { afterAll, beforeAll, expect, test } from 'bun:test';
import { CompiledQuery, sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import { deleteApp, restoreApp } from '../../apps/record/lifecycle.ts';
import { createTaggedCache } from '../../core/cache.ts';
import { type Invalidation, listenForChanges, notifySql } from '../../core/invalidation.ts';
import { appTag } from '../../core/tags.ts';
import { sha256 } from '../../core/values.ts';
import { setMember } from '../../people/tenants/members.ts';
import { suspendUser } from '../../people/users/users.ts';
import {
  codeOf,
  newUser,
  silentLog,
  type TestDatabase,
  testCaller,
  testDatabase,
  testMutation,
} from '../../testing.ts';
import { type Credential, createFindCredential } from '../credentials/find-credential.ts';
import { issueAccessToken } from '../sessions/issue-token.ts';
import type { TestBrowser } from './browser-testing.ts';
import {
  type AppTokens,
  newMemberOf,
  newSignInApp,
  refresh,
  type SignInApp,
  signedInBrowser,
  signInToApp,
  startTestProvider,
  type TestProvider,
} from './provider-testing.ts';
import {
  msUntilRefused,
  operator,
  requestWith,
  type ServerCopy,
  startServerCopy,
  testOrigin,
} from './testing.ts';

let database: TestDatabase;
let provider: TestProvider;
let server: ServerCopy;
let changes: Invalidation;
let findCredential: (request: Request) => Promise<Credential | null>;

beforeAll(async () => {
  database = await testDatabase();
  provider = await startTestProvider(database);
  server = await startServerCopy(database);
  changes = listenForChanges({ url: database.url, log: silentLog });
  const find = createFindCredential({
    db: database.db,
    cache: createTaggedCache(changes, { entriesMax: 1_000 }),
    now: () => new Date(),
    origin: testOrigin,
    log: silentLog,
  });
  findCredential = async (request) => find(request);
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
  expect(await msUntilRefused([async () => (await credential()) !== null])).toBeLessThan(patientMs(1_000));
  expect(await provider.userOf(tokens.accessToken)).toBeNull();
  expect((await refresh(provider, tokens.refreshToken, app.id)).status).toBeGreaterThanOrEqual(400);
}

async function changeApp({ id }: SignInApp, change: { record?: string; visibility?: string }): Promise<void> {
  await database.db.transaction().execute(async (tx) => {
    await sql`update svc.apps set visibility = coalesce(${change.visibility ?? null}, visibility),
      record = coalesce(${change.record ?? null}, record) where id = ${id}`.execute(tx);
    await tx.executeQuery(CompiledQuery.raw(notifySql, [appTag(id)]));
  });
}

test("an app's token identifies the user for rows, and is refused by the control plane", async () => {
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

test('an operator issues the token of a sign-in through an app, for people who may sign in to it', async () => {
  const app = await newSignInApp(database, provider);
  const user = await newMemberOf(database, app);
  const stranger = await newUser(database.db, null);
  const issue = (userId: string) =>
    testMutation(database.db, operator, (ctx) =>
      issueAccessToken(ctx, { userId, ttlSeconds: 60, throughApp: app.id }),
    );
  const { token } = (await issue(user.id)).value;
  expect((await findCredential(bearer(token)))?.caller).toMatchObject({
    userId: user.id,
    throughApp: app.id,
  });
  expect(await provider.userOf(token)).toBe(user.id);
  expect(await codeOf(issue(stranger.userId))).toBe('forbidden');
  await changeApp(app, { record: 'archived' });
  expect(await codeOf(issue(user.id))).toBe('forbidden');
});

test('a refresh token works once; using it again later revokes all tokens', async () => {
  const { app, userId, tokens, credential } = await signedIn();
  const renewed = await refresh(provider, tokens.refreshToken, app.id);
  expect(renewed.status).toBe(200);
  expect(renewed.body.refresh_token).not.toBe(tokens.refreshToken);
  const fresh = () => findCredential(bearer(renewed.body.access_token));
  expect((await fresh())?.caller).toMatchObject({ userId, throughApp: app.id });
  await sql`update svc.oauth_models set consumed_at = now() - interval '31 seconds'
    where id_hash = ${sha256(tokens.refreshToken)}`.execute(database.db);
  expect((await refresh(provider, tokens.refreshToken, app.id)).body.error).toBe('invalid_grant');
  const questions = [credential, fresh].map((ask) => async () => (await ask()) !== null);
  expect(await msUntilRefused(questions)).toBeLessThan(patientMs(1_000));
});

test('a reloaded page may refresh again shortly; use of the lost token reveals theft', async () => {
  const it = await signedIn();
  const next = (refreshToken: string) => refresh(provider, refreshToken, it.app.id);
  const missed = await next(it.tokens.refreshToken);
  const again = await next(it.tokens.refreshToken);
  expect([missed.status, again.status]).toEqual([200, 200]);
  const later = await next(again.body.refresh_token);
  expect(later.status).toBe(200);
  expect((await it.credential())?.caller.throughApp).toBe(it.app.id);
  const other = await signedIn();
  const inUse = await refresh(provider, other.tokens.refreshToken, other.app.id);
  expect((await refresh(provider, inUse.body.refresh_token, other.app.id)).status).toBe(200);
  expect((await refresh(provider, other.tokens.refreshToken, other.app.id)).body.error).toBe('invalid_grant');
  await endsWithinASecond(other);
  // Only an attacker can present the token of the lost response.
  expect((await next(missed.body.refresh_token)).body.error).toBe('invalid_grant');
  expect((await next(later.body.refresh_token)).body.error).toBe('invalid_grant');
  await endsWithinASecond(it);
});

test('revoking the refresh token signs out of the app within a second, in this browser only', async () => {
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

test('signing out of the platform signs out of the apps in the same browser', async () => {
  const it = await signedIn();
  const page = await it.browser.open('/here');
  await it.browser.submit({ ...page, html: '<form method="post" action="/logout"></form>' }, '/logout');
  await endsWithinASecond(it);
});

test('revoking the session or the sign-in in the list of sessions signs out of the app', async () => {
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

test('a suspended user is signed out of the app within a second', async () => {
  const it = await signedIn();
  await testMutation(database.db, operator, (ctx) => suspendUser(ctx, { userId: it.userId }));
  await endsWithinASecond(it);
});

test('a user who leaves the tenant is signed out of its apps within a second', async () => {
  const it = await signedIn();
  const { tenantId } = it.app;
  await testMutation(database.db, operator, (ctx) =>
    setMember(ctx, { tenantId, userId: it.userId, role: 'none' }),
  );
  await endsWithinASecond(it);
});

test("a deleted or hidden app ends the user's access within a second", async () => {
  for (const change of [{ record: 'deleted' }, { visibility: 'private' }]) {
    const it = await signedIn();
    await changeApp(it.app, change);
    await endsWithinASecond(it);
  }
});

test('an archived app signs nobody in and refreshes nothing; existing access tokens work until they expire', async () => {
  const it = await signedIn();
  await changeApp(it.app, { record: 'archived' });
  expect((await it.credential())?.caller.throughApp).toBe(it.app.id);
  expect((await refresh(provider, it.tokens.refreshToken, it.app.id)).status).toBe(401);
});

function moveApp({ app }: SignedIn, change: typeof deleteApp, mode: 'preview' | 'execute' = 'execute') {
  const { id, slug, tenantId, ownerId } = app;
  const state = { visibility: 'public', record: 'active', relation: 'owner', previewOf: null } as const;
  const context = {
    app: { id, slug, ownerId, name: slug, ...state },
    tenant: { id: tenantId, slug: tenantId, name: tenantId, role: 'tenant_member' as const },
  };
  const owner = testCaller({ userId: ownerId });
  return testMutation(database.db, owner, (ctx) => change(ctx), { context, mode });
}

const modelsOf = async ({ app }: SignedIn) =>
  (await sql`select from svc.oauth_models where client_id = ${app.id}`.execute(database.db)).rows.length;

test('deleting an app signs its users out within a second, and refresh tokens end', async () => {
  const it = await signedIn();
  await moveApp(it, deleteApp);
  await endsWithinASecond(it);
  expect(await modelsOf(it)).toBe(0);
});

test('a restored app requires a new sign-in; earlier tokens stay invalid', async () => {
  const it = await signedIn();
  await moveApp(it, deleteApp);
  await moveApp(it, restoreApp);
  expect(await msUntilRefused([async () => (await it.credential()) !== null])).toBeLessThan(patientMs(1_000));
  expect((await refresh(provider, it.tokens.refreshToken, it.app.id)).body.error).toBe('invalid_grant');
  const again = await signInToApp(provider, it.browser, it.app);
  const caller = (await findCredential(bearer(again.accessToken)))?.caller;
  expect(caller).toMatchObject({ userId: it.userId, throughApp: it.app.id });
});

test('sign-ins to other apps and to the platform continue', async () => {
  const [one, other] = [await signedIn(), await signedIn()];
  await moveApp(one, deleteApp);
  expect((await other.credential())?.caller.throughApp).toBe(other.app.id);
  const elsewhere = await newSignInApp(database, provider);
  await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
    values (${elsewhere.tenantId}, ${one.userId}, 'tenant_member', now())`.execute(database.db);
  // The browser session still exists: no password is required.
  expect((await signInToApp(provider, one.browser, elsewhere)).accessToken).toBeString();
});

test('a preview of a deletion signs nobody out', async () => {
  const it = await signedIn();
  const models = await modelsOf(it);
  await moveApp(it, deleteApp, 'preview');
  expect([await modelsOf(it), (await it.credential())?.caller.throughApp]).toEqual([models, it.app.id]);
});
