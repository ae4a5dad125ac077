import { expect, test } from 'bun:test';
import { CompiledQuery, sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import { newApp } from '../../apps/record/testing.ts';
import { notifySql } from '../../core/invalidation.ts';
import { credentialTag } from '../../core/tags.ts';
import { sha256 } from '../../core/values.ts';
import { deactivateMember, setMember } from '../../people/tenants/members.ts';
import { activateUser, setPassword, suspendUser } from '../../people/users/users.ts';

import { newTenant, newUser, testMutation } from '../../testing.ts';
import { consoleClientId } from '../sessions/clients.ts';
import { openSession, writeModel } from '../sessions/testing.ts';
import {
  browserHeaders,
  loginHeaders,
  msUntilRefused,
  operator,
  patHeaders,
  requestWith,
  useTwoServers,
} from './testing.ts';

const { database, server: one, other } = useTwoServers();

async function takenEverywhere(headers: Record<string, string>) {
  for (const copy of [one, other, one, other])
    expect(await copy.authenticate(requestWith(headers))).not.toBeNull();
}

function refusedEverywhereAfterMs(headers: Record<string, string>): Promise<number> {
  return msUntilRefused(
    [one, other].map((copy) => async () => (await copy.authenticate(requestWith(headers))) !== null),
  );
}

test('a token that lasts as long as a browser session ends with it', async () => {
  const user = await newUser(database.db, null);
  const id = user.userId;
  const authorizations = { [consoleClientId]: { grantId: `g-${id}` } };
  const cookie = await openSession(database.db, id, { uid: `u-${id}`, authorizations });
  const payload = {
    accountId: id,
    clientId: consoleClientId,
    grantId: `g-${id}`,
    sessionUid: `u-${id}`,
    expiresWithSession: true,
  };
  await writeModel(database.db, {
    kind: 'Grant',
    id: `g-${id}`,
    payload: { accountId: id, clientId: consoleClientId },
  });
  await writeModel(database.db, { kind: 'AccessToken', id: `t-${id}`, payload });
  const unbound = { ...payload, sessionUid: 'no such session' };
  await writeModel(database.db, { kind: 'AccessToken', id: `x-${id}`, payload: unbound });
  const token = { authorization: `Bearer t-${id}` };
  expect(await one.authenticate(requestWith({ authorization: `Bearer x-${id}` }))).toBeNull();
  await takenEverywhere(token);

  const browser = { cookie: `svc_session=${cookie}`, 'sec-fetch-site': 'same-origin' };
  const { body } = await one.call(browser, 'GET', '/api/v1/me/sessions');
  const current = body.items.find((session: { current: boolean }) => session.current);
  expect((await one.call(browser, 'DELETE', `/api/v1/me/sessions/${current.id}`)).status).toBe(204);
  expect(await refusedEverywhereAfterMs(token)).toBeLessThan(patientMs(1_000));
  expect(await refusedEverywhereAfterMs(browser)).toBeLessThan(patientMs(1_000));
});

test('a token bound to a session is refused within a second when the provider ends the session', async () => {
  const { userId: id } = await newUser(database.db, null);
  const cookie = await openSession(database.db, id, {
    uid: `u-${id}`,
    authorizations: { [consoleClientId]: { grantId: `g-${id}` } },
  });
  const bound = { grantId: `g-${id}`, sessionUid: `u-${id}`, expiresWithSession: true };
  await writeModel(database.db, {
    kind: 'Grant',
    id: `g-${id}`,
    payload: { accountId: id, clientId: consoleClientId },
  });
  await writeModel(database.db, {
    kind: 'AccessToken',
    id: `t-${id}`,
    payload: { accountId: id, clientId: consoleClientId, ...bound },
  });
  const token = { authorization: `Bearer t-${id}` };
  await takenEverywhere(token);
  await database.db.transaction().execute(async (tx) => {
    await sql`delete from svc.oauth_models where kind = 'Session' and id_hash = ${sha256(cookie)}`.execute(
      tx,
    );
    await tx.executeQuery(CompiledQuery.raw(notifySql, [credentialTag(sha256(cookie))]));
  });
  expect(await refusedEverywhereAfterMs(token)).toBeLessThan(patientMs(1_000));
});

test('a suspended user is refused by every server within a second, with any credential', async () => {
  const { tenant, member } = await newTenant(database.db);
  const login = await loginHeaders(database, member);
  const browser = await browserHeaders(database, member);
  const pat = await patHeaders(one, login, tenant.slug);
  for (const headers of [login, browser, pat.headers]) await takenEverywhere(headers);

  await testMutation(database.db, operator, (ctx) => suspendUser(ctx, { userId: member.userId }));
  for (const headers of [login, browser, pat.headers]) {
    expect(await refusedEverywhereAfterMs(headers)).toBeLessThan(patientMs(1_000));
  }
});

test('a reactivated user must sign in again, and their PATs work again', async () => {
  const { tenant, member } = await newTenant(database.db);
  const login = await loginHeaders(database, member);
  const browser = await browserHeaders(database, member);
  const pat = await patHeaders(one, login, tenant.slug);
  await testMutation(database.db, operator, (ctx) => suspendUser(ctx, { userId: member.userId }));
  expect(await refusedEverywhereAfterMs(pat.headers)).toBeLessThan(patientMs(1_000));
  await testMutation(database.db, operator, (ctx) => activateUser(ctx, { userId: member.userId }));
  await takenEverywhere(pat.headers);
  await takenEverywhere(await loginHeaders(database, member));
  expect(await one.authenticate(requestWith(login))).toBeNull();
  expect(await one.authenticate(requestWith(browser))).toBeNull();
});

test('a revoked PAT is refused by every server within a second', async () => {
  const { tenant, member } = await newTenant(database.db);
  const login = await loginHeaders(database, member);
  const pat = await patHeaders(one, login, tenant.slug);
  await takenEverywhere(pat.headers);
  expect((await one.call(login, 'DELETE', `/api/v1/tenants/${tenant.slug}/pats/${pat.id}`)).status).toBe(200);
  expect(await refusedEverywhereAfterMs(pat.headers)).toBeLessThan(patientMs(1_000));
});

test('a revoked login is refused by every server within a second, and other logins continue', async () => {
  const user = await newUser(database.db, null);
  const [login, kept] = [await loginHeaders(database, user), await loginHeaders(database, user)];
  await takenEverywhere(login);
  const { body } = await one.call(login, 'GET', '/api/v1/me/sessions');
  const { id } = body.items.find((item: { current: boolean }) => item.current);
  expect((await other.call(kept, 'DELETE', `/api/v1/me/sessions/${id}`)).status).toBe(204);
  expect(await refusedEverywhereAfterMs(login)).toBeLessThan(patientMs(1_000));
  await takenEverywhere(kept);
});

test('a new password ends all sign-ins', async () => {
  const user = await newUser(database.db, null);
  const [login, browser] = [await loginHeaders(database, user), await browserHeaders(database, user)];
  await takenEverywhere(login);
  await takenEverywhere(browser);
  await testMutation(database.db, operator, (ctx) =>
    setPassword(ctx, { userId: user.userId, password: 'correct horse' }),
  );
  expect(await refusedEverywhereAfterMs(login)).toBeLessThan(patientMs(1_000));
  expect(await refusedEverywhereAfterMs(browser)).toBeLessThan(patientMs(1_000));
});

test('a removed member is refused by every server within a second, and accepted when added again', async () => {
  const { tenant, member } = await newTenant(database.db);
  const login = await loginHeaders(database, member);
  const reads = [one, other].map((copy) => async () => {
    const { status } = await copy.call(login, 'GET', `/api/v1/tenants/${tenant.slug}`);
    expect([200, 404]).toContain(status);
    return status === 200;
  });
  for (const read of [...reads, ...reads]) expect(await read()).toBe(true);
  const set = (role: 'none' | 'tenant_member') =>
    testMutation(database.db, operator, (ctx) =>
      setMember(ctx, { tenantId: tenant.id, userId: member.userId, role }),
    );
  await set('none');
  expect(await msUntilRefused(reads)).toBeLessThan(patientMs(1_000));
  await set('tenant_member');
  expect(await msUntilRefused(reads.map((read) => async () => !(await read())))).toBeLessThan(
    patientMs(1_000),
  );
});

test('a member who is deactivated is signed out by their own tenant, and only of its apps by another one', async () => {
  const [own, second] = [await newTenant(database.db), await newTenant(database.db)];
  const person = own.member;
  const join = (tenantId: string) =>
    testMutation(database.db, operator, (ctx) =>
      setMember(ctx, { tenantId, userId: person.userId, role: 'tenant_member' }),
    );
  const deactivate = (tenantId: string) =>
    testMutation(database.db, operator, (ctx) => deactivateMember(ctx, { tenantId, userId: person.userId }));
  const signInTo = async ({ tenant, admin }: typeof own) => {
    const { id: clientId } = await newApp(database.db, tenant, admin);
    const payload = { accountId: person.userId, clientId };
    const grantId = Bun.randomUUIDv7();
    await writeModel(database.db, { kind: 'Grant', id: grantId, payload });
    await writeModel(database.db, { kind: 'AccessToken', id: clientId, payload: { ...payload, grantId } });
    return async () =>
      (await sql`select from svc.oauth_models where client_id = ${clientId}`.execute(database.db)).rows
        .length;
  };
  await join(second.tenant.id);
  const [login, browser] = [await loginHeaders(database, person), await browserHeaders(database, person)];
  const [ofOwn, ofSecond] = [await signInTo(own), await signInTo(second)];

  await deactivate(second.tenant.id);
  await deactivate(second.tenant.id);
  expect([await ofSecond(), await ofOwn()]).toEqual([0, 2]);
  for (const credential of [login, browser]) await takenEverywhere(credential);
  expect((await one.call(login, 'GET', `/api/v1/tenants/${second.tenant.slug}`)).status).toBe(404);
  expect((await one.call(login, 'GET', `/api/v1/tenants/${own.tenant.slug}`)).status).toBe(200);

  // No other tenant knows the person any more.
  await deactivate(own.tenant.id);
  expect(await ofOwn()).toBe(0);
  for (const credential of [login, browser])
    expect(await refusedEverywhereAfterMs(credential)).toBeLessThan(patientMs(1_000));

  const again = await loginHeaders(database, person);
  await join((await newTenant(database.db)).tenant.id);
  await sql`update svc.users set provisioned_by = ${own.tenant.id} where id = ${person.userId}`.execute(
    database.db,
  );
  await deactivate(own.tenant.id);
  expect(await refusedEverywhereAfterMs(again)).toBeLessThan(patientMs(1_000));
});
