import { beforeAll, expect, test } from 'bun:test';
import { cliClientId } from '@svc/contract/identity.ts';
import { sql } from 'kysely';
import { sha256 } from '../../core/values.ts';
import type { UserRecord } from '../../people/users/users.ts';
import type { TestBrowser } from './browser-testing.ts';
import {
  approveDevice,
  deviceGrantType,
  newUser,
  requestDeviceCode,
  signIn,
  signInDevice,
  startTestProvider,
  testPassword,
  useProvider,
} from './provider-testing.ts';

const { database, provider } = useProvider();
let user: UserRecord;
let browser: TestBrowser;

beforeAll(async () => {
  user = await newUser(database);
  browser = provider.browser();
  await signIn(browser, user.email);
});

const expire = (kind: string, id: string) =>
  sql`update svc.oauth_models set expires_at = now() - interval '1 second'
    where kind = ${kind} and id_hash = ${sha256(id)}`.execute(database.db);

test('a device gets its tokens after the user approves the code', async () => {
  const device = await requestDeviceCode(provider);
  expect(device.body).toMatchObject({
    interval: 5,
    expires_in: 600,
    verification_uri: `${provider.baseUrl}/oauth/device`,
  });
  expect(device.userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  expect((await device.poll()).body.error).toBe('authorization_pending');
  const entry = await browser.open('/oauth/device');
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

test('a user who is not signed in signs in first, and the code is prefilled', async () => {
  const device = await requestDeviceCode(provider);
  const other = provider.browser();
  const login = await other.open(device.body.verification_uri_complete);
  expect(login.html).toContain('<h1>Sign in</h1>');
  const entry = await other.submit(login, '/login', { email: user.email, password: testPassword });
  expect(entry.html).toContain(`value="${device.userCode}"`);
});

test('a client that polls too often gets slow_down from every server, and its tokens later', async () => {
  const copy = await startTestProvider(database);
  const device = await requestDeviceCode(provider);
  expect((await device.poll(provider)).body.error).toBe('authorization_pending');
  expect((await device.poll(copy)).body).toMatchObject({
    error: 'slow_down',
    error_description: 'poll at most every 10 seconds',
  });
  expect((await device.poll(provider)).body).toMatchObject({
    error_description: 'poll at most every 15 seconds',
  });
  await sql`update svc.oauth_models set created_at = now() - interval '14.5 seconds'
    where kind = 'DevicePoll' and id_hash = ${sha256(device.deviceCode)}`.execute(database.db);
  expect((await device.poll(copy)).body.error).toBe('authorization_pending');
  await approveDevice(browser, device.userCode);
  expect((await device.poll(copy)).status).toBe(200);
  await copy.stop();
});

test('a denied device gets access_denied once', async () => {
  const device = await requestDeviceCode(provider);
  const confirm = await browser.submit(await browser.open('/oauth/device'), '/oauth/device', {
    user_code: device.userCode,
  });
  const denied = await browser.submit(confirm, '/oauth/device', { abort: 'yes' });
  expect(denied.html).toContain('The sign-in was denied');
  expect((await device.poll()).body.error).toBe('access_denied');
  expect((await device.poll()).body.error).toBe('invalid_grant');
});

test('redeeming a device code twice revokes its tokens', async () => {
  const device = await signInDevice(provider, browser);
  expect(await provider.userOf(device.accessToken)).toBe(user.id);
  expect((await device.poll()).body.error).toBe('invalid_grant');
  expect(await provider.userOf(device.accessToken)).toBeNull();
});

test('of concurrent redemptions of a device code at most one gets tokens, and they are revoked', async () => {
  const device = await requestDeviceCode(provider);
  await approveDevice(browser, device.userCode);
  const answers = await Promise.all(Array.from({ length: 8 }, () => device.poll()));
  const tokens = answers.filter((answer) => answer.status === 200);
  expect(tokens.length).toBeLessThanOrEqual(1);
  for (const { body } of tokens) expect(await provider.userOf(body.access_token)).toBeNull();
});

test('another client cannot redeem a device code', async () => {
  const device = await requestDeviceCode(provider);
  await approveDevice(browser, device.userCode);
  const fields = { grant_type: deviceGrantType, client_id: 'svc-console', device_code: device.deviceCode };
  expect((await provider.post('/oauth/token', fields)).status).toBe(400);
  expect((await device.poll()).status).toBe(200);
});

test('a device code cannot be redeemed by its hash', async () => {
  const device = await requestDeviceCode(provider);
  await approveDevice(browser, device.userCode);
  const fields = { grant_type: deviceGrantType, client_id: cliClientId };
  for (const guess of [sha256(device.deviceCode), `stored:${sha256(device.deviceCode)}`]) {
    expect((await provider.post('/oauth/token', { ...fields, device_code: guess })).body.error).toBe(
      'invalid_grant',
    );
  }
});

test('an expired code is reported as expired to the device and the user', async () => {
  const device = await requestDeviceCode(provider);
  await expire('DeviceCode', device.deviceCode);
  expect((await device.poll()).body.error).toBe('expired_token');
  const page = await browser.submit(await browser.open('/oauth/device'), '/oauth/device', {
    user_code: device.userCode,
  });
  expect(page.html).toContain('This code has expired');
});

test('an approved code cannot be approved again', async () => {
  const device = await requestDeviceCode(provider);
  await approveDevice(browser, device.userCode);
  const page = await browser.submit(await browser.open('/oauth/device'), '/oauth/device', {
    user_code: device.userCode,
  });
  expect(page.html).toContain('This code was already used');
});

test('two devices approved in one browser are revoked separately', async () => {
  const first = await signInDevice(provider, browser);
  const second = await signInDevice(provider, browser);
  await provider.post('/oauth/token/revocation', { client_id: cliClientId, token: first.refreshToken });
  expect(await provider.userOf(first.accessToken)).toBeNull();
  expect(await provider.userOf(second.accessToken)).toBe(user.id);
});

test('a user whose session ended meanwhile signs in after approving', async () => {
  const device = await requestDeviceCode(provider);
  const other = provider.browser();
  await signIn(other, user.email);
  const confirm = await other.submit(await other.open('/oauth/device'), '/oauth/device', {
    user_code: device.userCode,
  });
  await endSession(other);
  const stale = await other.submit(confirm, '/oauth/device', { confirm: 'yes' });
  expect(stale.status).toBe(400);
  expect(stale.html).toContain('The form has expired');
  const again = await other.submit(stale, '/oauth/device');
  expect(again.html).not.toContain(user.email);
  const login = await other.submit(again, '/oauth/device', { confirm: 'yes' });
  expect(login.html).toContain('to continue to <strong>svc command line</strong>');
  const done = await other.submit(login, '/login', { email: user.email, password: testPassword });
  expect(done.html).toContain('You are signed in');
  expect(await provider.userOf((await device.poll()).body.access_token)).toBe(user.id);
});

test('codes can be guessed ten times a minute; the eleventh is refused unchecked', async () => {
  const device = await requestDeviceCode(provider);
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
  // The session is blocked as well, from any address.
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

async function endSession(of: TestBrowser): Promise<void> {
  const idHash = sha256(of.cookie('svc_session') ?? '');
  await sql`delete from svc.oauth_models where kind = 'Session' and id_hash = ${idHash}`.execute(database.db);
}
