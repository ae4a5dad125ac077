import { expect, test } from 'bun:test';
import { CompiledQuery, sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import { notifySql } from '../../core/invalidation.ts';
import { credentialTag } from '../../core/tags.ts';
import { sha256 } from '../../core/values.ts';
import { setMember } from '../../people/tenants/members.ts';
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
