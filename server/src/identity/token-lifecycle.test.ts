import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cliClientId } from '@svc/contract/identity.ts';
import { sql } from 'kysely';
import pg from 'pg';
import { sha256 } from '../plumbing/canonical.ts';
import { endSignIns } from '../sessions/end-sign-ins.ts';
import { findSignIn } from '../sessions/find-sign-in.ts';
import { type TestDatabase, testCaller, testDatabase, testMutation } from '../testing.ts';
import { activateUser } from '../users/activate-user.ts';
import type { UserRecord } from '../users/rules.ts';
import { suspendUser } from '../users/suspend-user.ts';
import { sweepOauthModels } from './oauth-adapter.ts';
import { consoleClientId } from './provider-clients.ts';
import {
  authorizationRequest,
  newUser,
  refresh,
  signIn,
  signInDevice,
  startTestProvider,
  type TestProvider,
} from './provider-testing.ts';
import type { TestBrowser } from './test-browser.ts';

let database: TestDatabase;
let provider: TestProvider;
let user: UserRecord;
let browser: TestBrowser;
const operator = testCaller({ kind: 'operator' });

beforeAll(async () => {
  database = await testDatabase();
  provider = await startTestProvider(database);
  user = await newUser(database);
  browser = provider.browser();
  await signIn(browser, user.email);
});
afterAll(async () => {
  await provider.stop();
  await database.close();
});

test('a refresh token is replaced at each use', async () => {
  const device = await signInDevice(provider, browser);
  const renewed = await refresh(provider, device.refreshToken);
  expect(renewed.status).toBe(200);
  expect(renewed.body.refresh_token).not.toBe(device.refreshToken);
  expect(await provider.userOf(renewed.body.access_token)).toBe(user.id);
  expect((await refresh(provider, renewed.body.refresh_token)).status).toBe(200);
});

test('a refresh token that turns up again ends everything that came of it', async () => {
  const device = await signInDevice(provider, browser);
  const renewed = await refresh(provider, device.refreshToken);
  expect((await refresh(provider, device.refreshToken)).body.error).toBe('invalid_grant');
  expect((await refresh(provider, renewed.body.refresh_token)).body.error).toBe('invalid_grant');
  expect(await provider.userOf(renewed.body.access_token)).toBeNull();
  expect(await provider.userOf(device.accessToken)).toBeNull();
});

test('of many who refresh at once, none keeps what the others could have', async () => {
  const copy = await startTestProvider(database);
  const device = await signInDevice(provider, browser);
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) => refresh(index % 2 ? copy : provider, device.refreshToken)),
  );
  const won = answers.filter((answer) => answer.status === 200);
  expect(won.length).toBeLessThanOrEqual(1);
  for (const { body } of won) expect(await signedIn(body.access_token)).toBeNull();
  await copy.stop();
});

test('revoking a refresh token ends the access tokens of its grant, and tells other copies', async () => {
  const device = await signInDevice(provider, browser);
  const heard = await listen();
  const revoked = await provider.post('/oauth/token/revocation', {
    client_id: cliClientId,
    token: device.refreshToken,
  });
  expect(revoked.status).toBe(200);
  expect(await provider.userOf(device.accessToken)).toBeNull();
  expect(await signedIn(device.accessToken)).toBeNull();
  expect((await refresh(provider, device.refreshToken)).body.error).toBe('invalid_grant');
  expect(await heard.until(`credential:${sha256(device.accessToken)}`)).toBe(true);
  await heard.stop();
});

test('a client can not revoke the token of another', async () => {
  const device = await signInDevice(provider, browser);
  await provider.post('/oauth/token/revocation', { client_id: consoleClientId, token: device.refreshToken });
  expect(await provider.userOf(device.accessToken)).toBe(user.id);
});

test('an expired access token is good for nothing, by the clock of the database', async () => {
  const device = await signInDevice(provider, browser);
  await sql`update svc.oauth_models set expires_at = now() where id_hash = ${sha256(device.accessToken)}`.execute(
    database.db,
  );
  expect(await provider.userOf(device.accessToken)).toBeNull();
});

test('a suspended user can neither refresh, nor sign in, nor go on with a session', async () => {
  const suspended = await newUser(database);
  const theirs = provider.browser();
  await signIn(theirs, suspended.email);
  const device = await signInDevice(provider, theirs);
  // Only the status, as if the rest of the suspension had not reached us.
  await sql`update svc.users set status = 'suspended' where id = ${suspended.id}`.execute(database.db);
  expect((await refresh(provider, device.refreshToken)).body.error).toBe('invalid_grant');
  expect(await provider.userOf(device.accessToken)).toBeNull();
  expect((await theirs.open('/login')).html).toContain('<h1>Sign in</h1>');
  const retry = await signIn(theirs, suspended.email);
  expect(retry.status).toBe(401);
  // And back.
  await testMutation(database.db, operator, (ctx) => activateUser(ctx, { userId: suspended.id }));
  expect((await signIn(theirs, suspended.email, '/here')).url).toBe(`${provider.baseUrl}/here`);
  await testMutation(database.db, operator, (ctx) => suspendUser(ctx, { userId: suspended.id }));
  expect((await refresh(provider, device.refreshToken)).body.error).toBe('invalid_grant');
});

test('a session that was ended while a request used it does not come back', async () => {
  const someone = await newUser(database);
  const theirs = provider.browser();
  await signIn(theirs, someone.email);
  const cookie = theirs.cookie('svc_session') ?? '';
  const loads = Array.from({ length: 20 }, () =>
    theirs.open(
      authorizationRequest({ client_id: consoleClientId, redirect_uri: `${provider.baseUrl}/login/done` })
        .path,
      (url) => url.pathname === '/login/done',
    ),
  );
  await testMutation(database.db, operator, (ctx) => endSignIns(ctx, { userId: someone.id }));
  await Promise.allSettled(loads);
  const { rows } =
    await sql`select 1 from svc.oauth_models where kind = 'Session' and id_hash = ${sha256(cookie)}`.execute(
      database.db,
    );
  expect(rows).toEqual([]);
});

test('nothing that opens a door stands in the table', async () => {
  const theirs = provider.browser();
  const login = await theirs.open('/login');
  const uid = new URL(login.url).pathname.split('/').at(-1) ?? '';
  const request = authorizationRequest({
    client_id: consoleClientId,
    redirect_uri: `${provider.baseUrl}/login/done`,
  });
  const authorized = await browser.open(request.path, (url) => url.pathname === '/login/done');
  const code = new URL(authorized.location ?? '').searchParams.get('code') ?? '';
  const relogin = await browser.open(
    authorizationRequest({
      client_id: consoleClientId,
      redirect_uri: `${provider.baseUrl}/login/done`,
      prompt: 'login',
    }).path,
  );
  const device = await signInDevice(provider, browser);
  const pending = await provider.post('/oauth/device/auth', { client_id: cliClientId });
  const renewed = await refresh(provider, device.refreshToken);
  const { rows } = await sql<{
    text: string;
  }>`select model::text as text from svc.oauth_models as model`.execute(database.db);
  const dump = rows.map((row) => row.text).join('\n');
  expect(dump).toContain(sha256(device.accessToken));
  const secrets = {
    uid,
    code,
    relogin: new URL(relogin.url).pathname.split('/').at(-1),
    session: browser.cookie('svc_session'),
    accessToken: device.accessToken,
    refreshToken: device.refreshToken,
    renewedAccess: renewed.body.access_token,
    renewedRefresh: renewed.body.refresh_token,
    deviceCode: device.deviceCode,
    pendingCode: pending.body.device_code,
    userCode: pending.body.user_code,
    bareUserCode: pending.body.user_code.replace('-', ''),
  };
  for (const [name, secret] of Object.entries(secrets)) {
    expect(secret, name).toBeTruthy();
    expect(dump.includes(String(secret)), name).toBe(false);
  }
});

test('what has expired is swept, an hour later', async () => {
  const device = await signInDevice(provider, browser);
  const row = sql`kind = 'AccessToken' and id_hash = ${sha256(device.accessToken)}`;
  const count = async () =>
    (await sql`select 1 from svc.oauth_models where ${row}`.execute(database.db)).rows.length;
  await sql`update svc.oauth_models set expires_at = now() - interval '59 minutes' where ${row}`.execute(
    database.db,
  );
  await sweepOauthModels(database.db);
  expect(await count()).toBe(1);
  await sql`update svc.oauth_models set expires_at = now() - interval '61 minutes' where ${row}`.execute(
    database.db,
  );
  await sweepOauthModels(database.db);
  expect(await count()).toBe(0);
});

async function signedIn(accessToken: string): Promise<string | null> {
  return (await findSignIn(database, { kind: 'login', hash: sha256(accessToken) }))?.userId ?? null;
}

async function listen() {
  const client = new pg.Client({ connectionString: database.url });
  const heard: (string | undefined)[] = [];
  await client.connect();
  let wake = () => {};
  client.on('notification', ({ payload }) => {
    heard.push(payload);
    wake();
  });
  await client.query('listen svc_changed');
  return {
    async until(payload: string): Promise<boolean> {
      const deadline = Date.now() + 1_000;
      while (!heard.includes(payload) && Date.now() < deadline) {
        await Promise.race([Bun.sleep(1_000), new Promise<void>((resolve) => (wake = resolve))]);
      }
      return heard.includes(payload);
    },
    stop: () => client.end(),
  };
}
