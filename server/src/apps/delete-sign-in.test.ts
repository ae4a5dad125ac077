import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sql } from 'kysely';
import {
  newMemberOf,
  newSignInApp,
  renew,
  signedInBrowser,
  signInToApp,
} from '../identity/app-sign-in-testing.ts';
import { createFindCredential } from '../identity/find-credential.ts';
import { startTestProvider, type TestProvider } from '../identity/provider-testing.ts';
import { heardAfterMs, requestWith, testOrigin } from '../identity/testing.ts';
import { createTaggedCache } from '../plumbing/cache.ts';
import type { AppAccess, Caller, TenantAccess } from '../plumbing/context.ts';
import { type Invalidation, listenForChanges } from '../plumbing/invalidation.ts';
import { silentLog, type TestDatabase, testCaller, testDatabase, testMutation } from '../testing.ts';
import { deleteApp } from './delete-app.ts';
import { restoreApp } from './restore-app.ts';

let database: TestDatabase;
let provider: TestProvider;
let changes: Invalidation;
let findCredential: ReturnType<typeof createFindCredential>;
beforeAll(async () => {
  database = await testDatabase();
  provider = await startTestProvider(database);
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
  await provider.stop();
  await database.close();
});

/** A member signed in to an app, and the app's owner, who can move it. */
async function signedIn() {
  const app = await newSignInApp(database, provider);
  const user = await newMemberOf(database, app);
  const browser = await signedInBrowser(provider, user.email);
  const tokens = await signInToApp(provider, browser, app);
  const owner: Caller = testCaller({ userId: app.ownerId });
  const { id, slug, tenantId, ownerId } = app;
  const access: AppAccess = {
    ...{ id, slug, ownerId, name: slug },
    ...{ visibility: 'public' as const, record: 'active' as const, relation: 'owner' as const },
  };
  const tenant: TenantAccess = { id: tenantId, slug: tenantId, name: tenantId, role: 'tenant_member' };
  const move = (verb: typeof deleteApp, mode: 'preview' | 'execute' = 'execute') =>
    testMutation(database.db, owner, (ctx) => verb(ctx), { context: { tenant, app: access }, mode });
  const credential = () => findCredential(requestWith({ authorization: `Bearer ${tokens.accessToken}` }));
  expect((await credential())?.caller.throughApp).toBe(app.id);
  return { app, user, browser, tokens, move, credential };
}

const modelsOf = async (appId: string) => {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from svc.oauth_models where client_id = ${appId}`.execute(database.db);
  return rows[0]!.n;
};

test('whoever is signed in to an app is out within a second of its deletion, and can not renew', async () => {
  const it = await signedIn();
  await it.move(deleteApp);
  expect(await heardAfterMs([async () => (await it.credential()) !== null])).toBeLessThan(1_000);
  expect(await provider.userOf(it.tokens.accessToken)).toBeNull();
  expect((await renew(provider, it.app.id, it.tokens.refreshToken)).status).toBeGreaterThanOrEqual(400);
  expect(await modelsOf(it.app.id)).toBe(0);
});

test('a restored app signs in anew; what was issued before is worth nothing', async () => {
  const it = await signedIn();
  await it.move(deleteApp);
  await it.move(restoreApp);
  expect(await it.credential()).toBeNull();
  expect((await renew(provider, it.app.id, it.tokens.refreshToken)).body.error).toBe('invalid_grant');
  const again = await signInToApp(provider, it.browser, it.app);
  const request = requestWith({ authorization: `Bearer ${again.accessToken}` });
  expect((await findCredential(request))?.caller).toMatchObject({
    userId: it.user.id,
    throughApp: it.app.id,
  });
});

test('sign-ins to other apps, and to the platform, go on', async () => {
  const [one, other] = [await signedIn(), await signedIn()];
  await one.move(deleteApp);
  expect((await other.credential())?.caller.throughApp).toBe(other.app.id);
  const elsewhere = await newSignInApp(database, provider);
  await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
    values (${elsewhere.tenantId}, ${one.user.id}, 'tenant_member', now())`.execute(database.db);
  // The browser is still signed in: it is not asked for a password.
  expect((await signInToApp(provider, one.browser, elsewhere)).accessToken).toBeString();
});

test('a preview of a deletion signs nobody out', async () => {
  const it = await signedIn();
  const models = await modelsOf(it.app.id);
  await it.move(deleteApp, 'preview');
  expect([await modelsOf(it.app.id), (await it.credential())?.caller.throughApp]).toEqual([
    models,
    it.app.id,
  ]);
});
