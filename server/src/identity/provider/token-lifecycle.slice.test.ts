import { beforeAll, expect, test } from 'bun:test';
import { cliClientId } from '@svc/contract/identity.ts';
import { sql } from 'kysely';
import pg from 'pg';
import { patientMs } from '../../../../scripts/patience.ts';
import { credentialTag } from '../../core/tags.ts';
import { sha256 } from '../../core/values.ts';
import { activateUser, suspendUser, type UserRecord } from '../../people/users/users.ts';
import { testCaller, testMutation } from '../../testing.ts';
import { consoleClientId } from '../sessions/clients.ts';
import { deleteExpiredModels } from '../sessions/models-store.ts';
import { endSignIns, findSignIn } from '../sessions/sessions.ts';
import type { TestBrowser } from './browser-testing.ts';
import {
  authorizationRequest,
  newUser,
  refresh,
  signIn,
  signInDevice,
  startTestProvider,
  useProvider,
} from './provider-testing.ts';

const committed: string[] = [];
const { database, provider } = useProvider({ onCommitted: (tag) => committed.push(tag) });
let user: UserRecord;
let browser: TestBrowser;
const operator = testCaller({ kind: 'operator' });

beforeAll(async () => {
  user = await newUser(database);
  browser = provider.browser();
  await signIn(browser, user.email);
});

test('a refresh token is replaced at each use', async () => {
  const device = await signInDevice(provider, browser);
  const renewed = await refresh(provider, device.refreshToken);
  expect(renewed.status).toBe(200);
  expect(renewed.body.refresh_token).not.toBe(device.refreshToken);
  expect(await provider.userOf(renewed.body.access_token)).toBe(user.id);
  expect((await refresh(provider, renewed.body.refresh_token)).status).toBe(200);
});

test('using a refresh token twice revokes all tokens of its grant', async () => {
  const device = await signInDevice(provider, browser);
  const renewed = await refresh(provider, device.refreshToken);
  expect((await refresh(provider, device.refreshToken)).body.error).toBe('invalid_grant');
  expect((await refresh(provider, renewed.body.refresh_token)).body.error).toBe('invalid_grant');
  expect(await provider.userOf(renewed.body.access_token)).toBeNull();
  expect(await provider.userOf(device.accessToken)).toBeNull();
});

test('concurrent refreshes with one token leave no valid token', async () => {
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

test('revoking a refresh token ends the access tokens of its grant, on other servers too', async () => {
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

test('the server that revokes an access token drops it from its caches before it answers', async () => {
  const device = await signInDevice(provider, browser);
  committed.length = 0;
  const token = { token: device.accessToken, client_id: cliClientId };
  expect((await provider.post('/oauth/token/revocation', token)).status).toBe(200);
  expect(committed).toContain(credentialTag(sha256(device.accessToken)));
});

test('a client cannot revoke the token of another client', async () => {
  const device = await signInDevice(provider, browser);
  await provider.post('/oauth/token/revocation', { client_id: consoleClientId, token: device.refreshToken });
  expect(await provider.userOf(device.accessToken)).toBe(user.id);
});

test("an access token expires by the database's clock", async () => {
  const device = await signInDevice(provider, browser);
  await sql`update svc.oauth_models set expires_at = now() where id_hash = ${sha256(device.accessToken)}`.execute(
    database.db,
  );
  expect(await provider.userOf(device.accessToken)).toBeNull();
});

test('a suspended user can neither refresh, sign in nor use a session', async () => {
  const suspended = await newUser(database);
  const theirs = provider.browser();
  await signIn(theirs, suspended.email);
  const device = await signInDevice(provider, theirs);
  // Changes only the status, without ending the sign-ins.
  await sql`update svc.users set status = 'suspended' where id = ${suspended.id}`.execute(database.db);
  expect((await refresh(provider, device.refreshToken)).body.error).toBe('invalid_grant');
  expect(await provider.userOf(device.accessToken)).toBeNull();
  expect((await theirs.open('/login')).html).toContain('<h1>Sign in</h1>');
  const retry = await signIn(theirs, suspended.email);
  expect(retry.status).toBe(401);
  await testMutation(database.db, operator, (ctx) => activateUser(ctx, { userId: suspended.id }));
  expect((await signIn(theirs, suspended.email, '/here')).url).toBe(`${provider.baseUrl}/here`);
  await testMutation(database.db, operator, (ctx) => suspendUser(ctx, { userId: suspended.id }));
  expect((await refresh(provider, device.refreshToken)).body.error).toBe('invalid_grant');
});

test('a session that is ended during a request is not saved again', async () => {
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

test('the table stores no usable secret', async () => {
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

test('expired records are deleted after an hour', async () => {
  const device = await signInDevice(provider, browser);
  const row = sql`kind = 'AccessToken' and id_hash = ${sha256(device.accessToken)}`;
  const count = async () =>
    (await sql`select 1 from svc.oauth_models where ${row}`.execute(database.db)).rows.length;
  await sql`update svc.oauth_models set expires_at = now() - interval '59 minutes' where ${row}`.execute(
    database.db,
  );
  await deleteExpiredModels(database.db);
  expect(await count()).toBe(1);
  await sql`update svc.oauth_models set expires_at = now() - interval '61 minutes' where ${row}`.execute(
    database.db,
  );
  await deleteExpiredModels(database.db);
  expect(await count()).toBe(0);
});

async function signedIn(accessToken: string): Promise<string | null> {
  return (await findSignIn(database.db, { kind: 'login', hash: sha256(accessToken) }))?.userId ?? null;
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
      const deadline = Date.now() + patientMs(1_000);
      while (!heard.includes(payload) && Date.now() < deadline) {
        await Promise.race([Bun.sleep(1_000), new Promise<void>((resolve) => (wake = resolve))]);
      }
      return heard.includes(payload);
    },
    stop: () => client.end(),
  };
}
