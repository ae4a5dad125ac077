import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cliClientId } from '@svc/contract/identity.ts';
import { sql } from 'kysely';
import { sha256 } from '../plumbing/canonical.ts';
import { type TestDatabase, testDatabase } from '../testing.ts';
import type { UserRecord } from '../users/rules.ts';
import {
  askForDevice,
  deviceGrantType,
  newUser,
  signIn,
  signInDevice,
  startTestProvider,
  type TestProvider,
  testPassword,
} from './provider-testing.ts';
import type { TestBrowser } from './test-browser.ts';

let database: TestDatabase;
let provider: TestProvider;
let user: UserRecord;
let browser: TestBrowser;

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

const expire = (kind: string, id: string) =>
  sql`update svc.oauth_models set expires_at = now() - interval '1 second'
    where kind = ${kind} and id_hash = ${sha256(id)}`.execute(database.db);

test('a device is approved by a person who compares the code, and gets its tokens', async () => {
  const device = await askForDevice(provider);
  expect(device.body).toMatchObject({
    interval: 5,
    expires_in: 600,
    verification_uri: `${provider.baseUrl}/oauth/device`,
  });
  expect(device.userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  expect((await device.poll()).body.error).toBe('authorization_pending');
  const entry = await browser.open('/oauth/device');
  // As people type it: small letters, no dash.
  const typed = device.userCode.toLowerCase().replace('-', '');
  const confirm = await browser.submit(entry, '/oauth/device', { user_code: typed });
  expect(confirm.html).toContain(`>${device.userCode}</output>`);
  expect(confirm.html).toContain('svc command line');
  expect(confirm.html).toContain(user.email);
  const done = await browser.submit(confirm, '/oauth/device', { confirm: 'yes' });
  expect(done.html).toContain('You are signed in');
  const tokens = await device.poll();
  expect(tokens.status).toBe(200);
  expect(await provider.userOf(tokens.body.access_token)).toBe(user.id);
});

test('someone who is not signed in signs in before the code, and finds it filled in', async () => {
  const device = await askForDevice(provider);
  const other = provider.browser();
  const login = await other.open(device.body.verification_uri_complete);
  expect(login.html).toContain('<h1>Sign in</h1>');
  const entry = await other.submit(login, '/login', { email: user.email, password: testPassword });
  expect(entry.html).toContain(`value="${device.userCode}"`);
});

test('a client that asks too often is told to slow down, by any copy of the server, and still gets its tokens', async () => {
  const copy = await startTestProvider(database);
  const device = await askForDevice(provider);
  const ask = (at: TestProvider) =>
    at.post('/oauth/token', {
      grant_type: deviceGrantType,
      client_id: cliClientId,
      device_code: device.deviceCode,
    });
  expect((await ask(provider)).body.error).toBe('authorization_pending');
  expect((await ask(copy)).body).toMatchObject({
    error: 'slow_down',
    error_description: 'ask at most every 10 seconds',
  });
  expect((await ask(provider)).body).toMatchObject({ error_description: 'ask at most every 15 seconds' });
  await sql`update svc.oauth_models set created_at = now() - interval '14.5 seconds'
    where kind = 'DevicePoll' and id_hash = ${sha256(device.deviceCode)}`.execute(database.db);
  expect((await ask(copy)).body.error).toBe('authorization_pending');
  await approve(device.userCode);
  expect((await ask(copy)).status).toBe(200);
  await copy.stop();
});

test('a device that is denied is told so, once', async () => {
  const device = await askForDevice(provider);
  const confirm = await browser.submit(await browser.open('/oauth/device'), '/oauth/device', {
    user_code: device.userCode,
  });
  const denied = await browser.submit(confirm, '/oauth/device', { abort: 'yes' });
  expect(denied.html).toContain('The sign-in was denied');
  expect((await device.poll()).body.error).toBe('access_denied');
  expect((await device.poll()).body.error).toBe('invalid_grant');
});

test('a device code that is redeemed twice ends what it gave', async () => {
  const device = await signInDevice(provider, browser);
  expect(await provider.userOf(device.accessToken)).toBe(user.id);
  expect((await device.poll()).body.error).toBe('invalid_grant');
  expect(await provider.userOf(device.accessToken)).toBeNull();
});

test('of many who redeem a device code at once, at most one gets tokens, and none keeps them', async () => {
  const device = await askForDevice(provider);
  await approve(device.userCode);
  const answers = await Promise.all(Array.from({ length: 8 }, () => device.poll()));
  const tokens = answers.filter((answer) => answer.status === 200);
  expect(tokens.length).toBeLessThanOrEqual(1);
  for (const { body } of tokens) expect(await provider.userOf(body.access_token)).toBeNull();
});

test('another client can not redeem a device code', async () => {
  const device = await askForDevice(provider);
  await approve(device.userCode);
  const fields = { grant_type: deviceGrantType, client_id: 'svc-console', device_code: device.deviceCode };
  expect((await provider.post('/oauth/token', fields)).status).toBe(400);
  expect((await device.poll()).status).toBe(200);
});

test('a device code is not known by its hash', async () => {
  const device = await askForDevice(provider);
  await approve(device.userCode);
  const fields = { grant_type: deviceGrantType, client_id: cliClientId };
  for (const guess of [sha256(device.deviceCode), `stored:${sha256(device.deviceCode)}`]) {
    expect((await provider.post('/oauth/token', { ...fields, device_code: guess })).body.error).toBe(
      'invalid_grant',
    );
  }
});

test('an expired code is told apart, to the device and to the person', async () => {
  const device = await askForDevice(provider);
  await expire('DeviceCode', device.deviceCode);
  expect((await device.poll()).body.error).toBe('expired_token');
  const page = await browser.submit(await browser.open('/oauth/device'), '/oauth/device', {
    user_code: device.userCode,
  });
  expect(page.html).toContain('This code has expired');
});

test('a code that was approved can not be approved again', async () => {
  const device = await askForDevice(provider);
  await approve(device.userCode);
  const page = await browser.submit(await browser.open('/oauth/device'), '/oauth/device', {
    user_code: device.userCode,
  });
  expect(page.html).toContain('This code has been used');
});

test('two devices of one browser are ended apart', async () => {
  const first = await signInDevice(provider, browser);
  const second = await signInDevice(provider, browser);
  await provider.post('/oauth/token/revocation', { client_id: cliClientId, token: first.refreshToken });
  expect(await provider.userOf(first.accessToken)).toBeNull();
  expect(await provider.userOf(second.accessToken)).toBe(user.id);
});

test('someone whose session ended on the way signs in after approving', async () => {
  const device = await askForDevice(provider);
  const other = provider.browser();
  await signIn(other, user.email);
  const confirm = await other.submit(await other.open('/oauth/device'), '/oauth/device', {
    user_code: device.userCode,
  });
  await endSession(other);
  const stale = await other.submit(confirm, '/oauth/device', { confirm: 'yes' });
  expect(stale.status).toBe(400);
  expect(stale.html).toContain('The form was out of date');
  const again = await other.submit(stale, '/oauth/device');
  expect(again.html).not.toContain(user.email);
  const login = await other.submit(again, '/oauth/device', { confirm: 'yes' });
  expect(login.html).toContain('to continue to <strong>svc command line</strong>');
  const done = await other.submit(login, '/login', { email: user.email, password: testPassword });
  expect(done.html).toContain('You are signed in');
  expect(await provider.userOf((await device.poll()).body.access_token)).toBe(user.id);
});

test('guessing codes is stopped after ten tries a minute, and the eleventh is not looked at', async () => {
  const device = await askForDevice(provider);
  const guesser = provider.browser('203.0.113.9');
  guesser.cookies = [...browser.cookies];
  const entry = await guesser.open('/oauth/device');
  const statuses = [];
  let page = entry;
  for (let tries = 0; tries < 10; tries++) {
    page = await guesser.submit(page, '/oauth/device', { user_code: 'BBBB-BBBB' });
    statuses.push(page.status);
  }
  expect(statuses).toEqual(Array(10).fill(400));
  const stopped = await guesser.submit(page, '/oauth/device', { user_code: device.userCode });
  expect(stopped.status).toBe(429);
  expect(Number(stopped.headers.get('retry-after'))).toBeWithin(1, 61);
  expect((await device.poll()).body.error).toBe('authorization_pending');
  // The session is stopped as well, from wherever it comes.
  const elsewhere = provider.browser('198.51.100.7');
  elsewhere.cookies = [...guesser.cookies];
  expect(
    (
      await elsewhere.submit(await elsewhere.open('/oauth/device'), '/oauth/device', {
        user_code: 'BBBB-BBBB',
      })
    ).status,
  ).toBe(429);
});

async function approve(userCode: string): Promise<void> {
  const entry = await browser.open(`/oauth/device?user_code=${userCode}`);
  const confirm = await browser.submit(entry, '/oauth/device');
  await browser.submit(confirm, '/oauth/device', { confirm: 'yes' });
}

async function endSession(of: TestBrowser): Promise<void> {
  const idHash = sha256(of.cookie('svc_session') ?? '');
  await sql`delete from svc.oauth_models where kind = 'Session' and id_hash = ${idHash}`.execute(database.db);
}
