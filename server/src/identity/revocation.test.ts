import { afterAll, beforeAll, expect, test } from 'bun:test';
import { CompiledQuery, sql } from 'kysely';
import { sha256 } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';
import { notifySql } from '../plumbing/invalidation.ts';
import { openSession, writeModel } from '../sessions/testing.ts';
import { setMember } from '../tenants/set-member.ts';
import { newTenant, newUser, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { activateUser } from '../users/activate-user.ts';
import { setPassword } from '../users/set-password.ts';
import { suspendUser } from '../users/suspend-user.ts';
import { consoleClientId } from './provider-clients.ts';
import { credentialTag } from './tags.ts';
import {
  browserOf,
  copyOfServer,
  heardAfterMs,
  loginOf,
  operator,
  patOf,
  requestWith,
  type ServerCopy,
} from './testing.ts';

let database: TestDatabase;
let db: Db;
/** Two copies of the server on one database. */
let one: ServerCopy;
let other: ServerCopy;

beforeAll(async () => {
  database = await testDatabase();
  db = database.db;
  one = await copyOfServer(database);
  other = await copyOfServer(database);
});
afterAll(async () => {
  await one.stop();
  await other.stop();
  await database.close();
});

/** Both copies take the credential, and have it in their caches when this is over. */
async function takenEverywhere(headers: Record<string, string>) {
  for (const copy of [one, other, one, other])
    expect(await copy.authenticate(requestWith(headers))).not.toBeNull();
}

function refusedEverywhereAfterMs(headers: Record<string, string>): Promise<number> {
  return heardAfterMs(
    [one, other].map((copy) => async () => (await copy.authenticate(requestWith(headers))) !== null),
  );
}

test('a token that lasts as long as a browser session ends with it', async () => {
  const user = await newUser(db, null);
  const id = user.userId;
  const authorizations = { [consoleClientId]: { grantId: `g-${id}` } };
  const cookie = await openSession(db, id, { uid: `u-${id}`, authorizations });
  const payload = {
    accountId: id,
    clientId: consoleClientId,
    grantId: `g-${id}`,
    sessionUid: `u-${id}`,
    expiresWithSession: true,
  };
  await writeModel(db, {
    kind: 'Grant',
    id: `g-${id}`,
    payload: { accountId: id, clientId: consoleClientId },
  });
  await writeModel(db, { kind: 'AccessToken', id: `t-${id}`, payload });
  const unbound = { ...payload, sessionUid: 'no such session' };
  await writeModel(db, { kind: 'AccessToken', id: `x-${id}`, payload: unbound });
  const token = { authorization: `Bearer t-${id}` };
  expect(await one.authenticate(requestWith({ authorization: `Bearer x-${id}` }))).toBeNull();
  await takenEverywhere(token);

  const browser = { cookie: `svc_session=${cookie}`, 'sec-fetch-site': 'same-origin' };
  const { body } = await one.call(browser, 'GET', '/api/v1/me/sessions');
  const current = body.items.find((session: { current: boolean }) => session.current);
  expect((await one.call(browser, 'DELETE', `/api/v1/me/sessions/${current.id}`)).status).toBe(204);
  expect(await refusedEverywhereAfterMs(token)).toBeLessThan(1_000);
  expect(await refusedEverywhereAfterMs(browser)).toBeLessThan(1_000);
});

test('a token bound to a session is refused within a second when the provider ends the session', async () => {
  const { userId: id } = await newUser(db, null);
  const cookie = await openSession(db, id, {
    uid: `u-${id}`,
    authorizations: { [consoleClientId]: { grantId: `g-${id}` } },
  });
  const bound = { grantId: `g-${id}`, sessionUid: `u-${id}`, expiresWithSession: true };
  await writeModel(db, {
    kind: 'Grant',
    id: `g-${id}`,
    payload: { accountId: id, clientId: consoleClientId },
  });
  await writeModel(db, {
    kind: 'AccessToken',
    id: `t-${id}`,
    payload: { accountId: id, clientId: consoleClientId, ...bound },
  });
  const token = { authorization: `Bearer t-${id}` };
  await takenEverywhere(token);
  await db.transaction().execute(async (tx) => {
    await sql`delete from svc.oauth_models where kind = 'Session' and id_hash = ${sha256(cookie)}`.execute(
      tx,
    );
    await tx.executeQuery(CompiledQuery.raw(notifySql, [credentialTag(sha256(cookie))]));
  });
  expect(await refusedEverywhereAfterMs(token)).toBeLessThan(1_000);
});

test('a suspended user is refused at every copy within a second, by whatever they come', async () => {
  const { tenant, member } = await newTenant(db);
  const login = await loginOf(database, member);
  const browser = await browserOf(database, member);
  const pat = await patOf(one, login, tenant.slug);
  for (const headers of [login, browser, pat.headers]) await takenEverywhere(headers);

  await testMutation(db, operator, (ctx) => suspendUser(ctx, { userId: member.userId }));
  for (const headers of [login, browser, pat.headers]) {
    expect(await refusedEverywhereAfterMs(headers)).toBeLessThan(1_000);
  }
});

test('a user who is activated again signs in anew, and their PATs work again', async () => {
  const { tenant, member } = await newTenant(db);
  const login = await loginOf(database, member);
  const browser = await browserOf(database, member);
  const pat = await patOf(one, login, tenant.slug);
  await testMutation(db, operator, (ctx) => suspendUser(ctx, { userId: member.userId }));
  expect(await refusedEverywhereAfterMs(pat.headers)).toBeLessThan(1_000);
  await testMutation(db, operator, (ctx) => activateUser(ctx, { userId: member.userId }));
  await takenEverywhere(pat.headers);
  await takenEverywhere(await loginOf(database, member));
  expect(await one.authenticate(requestWith(login))).toBeNull();
  expect(await one.authenticate(requestWith(browser))).toBeNull();
});

test('a revoked PAT is refused at every copy within a second', async () => {
  const { tenant, member } = await newTenant(db);
  const login = await loginOf(database, member);
  const pat = await patOf(one, login, tenant.slug);
  await takenEverywhere(pat.headers);
  expect((await one.call(login, 'DELETE', `/api/v1/tenants/${tenant.slug}/pats/${pat.id}`)).status).toBe(200);
  expect(await refusedEverywhereAfterMs(pat.headers)).toBeLessThan(1_000);
});

test('a revoked login is refused at every copy within a second, and other logins go on', async () => {
  const user = await newUser(db, null);
  const [login, kept] = [await loginOf(database, user), await loginOf(database, user)];
  await takenEverywhere(login);
  const { body } = await one.call(login, 'GET', '/api/v1/me/sessions');
  const { id } = body.items.find((item: { current: boolean }) => item.current);
  expect((await other.call(kept, 'DELETE', `/api/v1/me/sessions/${id}`)).status).toBe(204);
  expect(await refusedEverywhereAfterMs(login)).toBeLessThan(1_000);
  await takenEverywhere(kept);
});

test('a new password ends what was signed in with the old one', async () => {
  const user = await newUser(db, null);
  const [login, browser] = [await loginOf(database, user), await browserOf(database, user)];
  await takenEverywhere(login);
  await takenEverywhere(browser);
  await testMutation(db, operator, (ctx) =>
    setPassword(ctx, { userId: user.userId, password: 'correct horse' }),
  );
  expect(await refusedEverywhereAfterMs(login)).toBeLessThan(1_000);
  expect(await refusedEverywhereAfterMs(browser)).toBeLessThan(1_000);
});

test('a removed member is outside at every copy within a second, and back as soon as added again', async () => {
  const { tenant, member } = await newTenant(db);
  const login = await loginOf(database, member);
  const reads = [one, other].map((copy) => async () => {
    const { status } = await copy.call(login, 'GET', `/api/v1/tenants/${tenant.slug}`);
    expect([200, 404]).toContain(status);
    return status === 200;
  });
  for (const read of [...reads, ...reads]) expect(await read()).toBe(true);
  const set = (role: 'none' | 'tenant_member') =>
    testMutation(db, operator, (ctx) => setMember(ctx, { tenantId: tenant.id, userId: member.userId, role }));
  await set('none');
  expect(await heardAfterMs(reads)).toBeLessThan(1_000);
  await set('tenant_member');
  expect(await heardAfterMs(reads.map((read) => async () => !(await read())))).toBeLessThan(1_000);
});
