import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import { useFixture } from '../../../../scripts/use-fixture.ts';
import type { Db } from '../../core/db.ts';
import { newTenant, newUser, silentLog } from '../../testing.ts';
import { makePat } from '../pats/find-pat.ts';
import {
  browserHeaders,
  loginHeaders,
  msUntilRefused,
  patHeaders,
  requestWith,
  startServerCopy,
  testOrigin,
  useServer,
} from '../provider/testing.ts';
import { writeModel } from '../sessions/testing.ts';
import { createAuthenticate } from './find-credential.ts';

let skewMs = 0;
const { database, server: other } = useServer();
const one = useFixture(
  () => startServerCopy(database, () => new Date(Date.now() + skewMs)),
  (it) => it.stop(),
);

test('a login, a browser session and a PAT each identify the caller and the credential', async () => {
  const { tenant, member } = await newTenant(database.db);
  const login = await loginHeaders(database, member);
  const pat = await patHeaders(one, login, tenant.slug);
  const byLogin = await one.authenticate(requestWith(login));
  const bySession = await one.authenticate(requestWith(await browserHeaders(database, member)));
  const byPat = await one.authenticate(requestWith(pat.headers));
  const person = { userId: member.userId, email: member.email, name: 'Someone' };
  expect(byLogin).toMatchObject({ ...person, kind: 'login' });
  expect(bySession).toMatchObject({ ...person, kind: 'session' });
  expect(byPat).toMatchObject({ ...person, kind: 'pat', credentialId: pat.hash });
  expect(byLogin!.expiresAt.getTime()).toBeGreaterThan(Date.now() + 3_500_000);
});

test('unknown credentials are refused', async () => {
  const made = 'A'.repeat(43);
  expect(await one.authenticate(requestWith({}))).toBeNull();
  expect(await one.authenticate(requestWith({ authorization: `Bearer ${made}` }))).toBeNull();
  expect(await one.authenticate(requestWith({ 'x-api-key': makePat() }))).toBeNull();
  expect(await one.authenticate(requestWith({ cookie: `svc_session=${made}` }))).toBeNull();
});

test('an API key with a wrong checksum is refused without a query', async () => {
  const pat = makePat();
  const asked = new Proxy({} as Db, { get: () => expect.unreachable('the database was asked') });
  const authenticate = createAuthenticate({
    db: asked,
    cache: { get: () => expect.unreachable('the cache was asked'), peek: () => null, delete: () => {} },
    now: () => new Date(),
    origin: testOrigin,
    log: silentLog,
  });
  for (const key of [`${pat.slice(0, -1)}${pat.endsWith('0') ? '1' : '0'}`, pat.slice(1), '', 'svcpat_']) {
    expect(await authenticate(requestWith({ 'x-api-key': key }))).toBeNull();
  }
});

test('a credential expires on time, also when it is cached', async () => {
  const { tenant, member } = await newTenant(database.db);
  const login = await loginHeaders(database, member, 60);
  const pat = await patHeaders(one, login, tenant.slug);
  const browser = await browserHeaders(database, member);
  for (const headers of [login, pat.headers, browser]) {
    expect(await one.authenticate(requestWith(headers))).not.toBeNull();
  }
  const after = async (ms: number, headers: Record<string, string>) => {
    skewMs = ms;
    const caller = await one.authenticate(requestWith(headers)).finally(() => {
      skewMs = 0;
    });
    return caller !== null;
  };
  expect(await after(50_000, login)).toBe(true);
  expect(await after(60_000, login)).toBe(false);
  expect(await after(3_500_000, browser)).toBe(true);
  expect(await after(3_601_000, browser)).toBe(false);
  expect(await after(89 * 86_400_000, pat.headers)).toBe(true);
  expect(await after(90 * 86_400_000, pat.headers)).toBe(false);
});

test('a session without a sign-in has no caller', async () => {
  await writeModel(database.db, {
    kind: 'Session',
    id: 'before-sign-in',
    payload: { kind: 'Session', uid: 'u1' },
  });
  expect(await one.authenticate(requestWith({ cookie: 'svc_session=before-sign-in' }))).toBeNull();
});

test('a token for another audience is not accepted as a login', async () => {
  const user = await newUser(database.db, null);
  const payload = { accountId: user.userId, clientId: 'svc-cli', grantId: `g-${user.userId}` };
  await writeModel(database.db, {
    kind: 'Grant',
    id: payload.grantId,
    payload: { accountId: user.userId, clientId: 'svc-cli' },
  });
  await writeModel(database.db, {
    kind: 'AccessToken',
    id: `t-${user.userId}`,
    payload: { ...payload, aud: 'app' },
  });
  await writeModel(database.db, { kind: 'AccessToken', id: `u-${user.userId}`, payload });
  expect(await one.authenticate(requestWith({ authorization: `Bearer t-${user.userId}` }))).toBeNull();
  expect(await one.authenticate(requestWith({ authorization: `Bearer u-${user.userId}` }))).not.toBeNull();
});

test("a token without its grant, or with another user's grant, is refused", async () => {
  const [user, stranger] = [await newUser(database.db, null), await newUser(database.db, null)];
  const payload = { accountId: user.userId, clientId: 'svc-cli', grantId: `g-${user.userId}` };
  await writeModel(database.db, { kind: 'AccessToken', id: `t-${user.userId}`, payload });
  const headers = { authorization: `Bearer t-${user.userId}` };
  expect(await one.authenticate(requestWith(headers))).toBeNull();
  await writeModel(database.db, {
    kind: 'Grant',
    id: payload.grantId,
    payload: { accountId: stranger.userId, clientId: 'svc-cli' },
  });
  expect(await one.authenticate(requestWith(headers))).toBeNull();
});

test('the last use of a PAT is recorded once a minute', async () => {
  const { tenant, member } = await newTenant(database.db);
  const pat = await patHeaders(one, await loginHeaders(database, member), tenant.slug);
  const lastUse = async () => {
    const { rows } = await sql<{ at: Date | null }>`
      select last_used_at as at from svc.pats where id = ${pat.id}`.execute(database.db);
    return rows[0]?.at ?? null;
  };
  const usedAt = async (ms: number) => {
    skewMs = ms;
    await one.authenticate(requestWith(pat.headers));
    skewMs = 0;
  };
  expect(await lastUse()).toBeNull();
  await usedAt(0);
  expect(await msUntilRefused([async () => (await lastUse()) === null])).toBeLessThan(patientMs(1_000));
  const first = (await lastUse())!.getTime();
  await usedAt(50_000);
  await other.authenticate(requestWith(pat.headers));
  await usedAt(61_000);
  expect(await msUntilRefused([async () => (await lastUse())!.getTime() === first])).toBeLessThan(
    patientMs(1_000),
  );
  expect((await lastUse())!.getTime() - first).toBeGreaterThanOrEqual(60_000);
});
