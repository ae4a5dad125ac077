import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { browserOf } from '../identity/testing.ts';
import { newTenant, newUser, type TestDatabase, type TestTenant, testDatabase } from '../testing.ts';
import { type Called, startTestGitHost, type TestGitHost } from './testing.ts';

let database: TestDatabase;
let host: TestGitHost;
let place: TestTenant;

beforeAll(async () => {
  database = await testDatabase();
  host = await startTestGitHost(database);
  place = await newTenant(database.db);
});
afterAll(async () => {
  await host.stop();
  await database.close();
});

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

async function post(
  path: string,
  fields: Record<string, string>,
  accept = 'application/json',
): Promise<Called> {
  const answer = await fetch(`${host.baseUrl}/git/login/${path}`, {
    method: 'POST',
    headers: { accept, 'user-agent': 'a program <b>' },
    body: new URLSearchParams(fields),
  });
  const text = await answer.text();
  const isJson = accept === 'application/json';
  return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text };
}

async function begin() {
  const { clientId } = host.parts.app;
  const { body } = await post('device/code', { client_id: clientId });
  const poll = (more: Record<string, string> = {}) =>
    post('oauth/access_token', {
      client_id: clientId,
      device_code: body.device_code,
      grant_type: deviceGrant,
      ...more,
    });
  return { body, poll, userCode: body.user_code as string };
}

/** Sends the form of the page as somebody who is signed in. */
async function answer(person: { userId: string }, fields: Record<string, string>, headers = {}) {
  const page = await fetch(`${host.baseUrl}/git/login/device`, {
    method: 'POST',
    headers: { ...(await browserOf(database, person)), ...headers },
    body: new URLSearchParams(fields),
  });
  return { status: page.status, html: await page.text(), headers: page.headers };
}

const approve = (userCode: string) => answer(place.member, { user_code: userCode, confirm: 'yes' });

describe('a device', () => {
  test('is approved by a person who is signed in and compares the code, and gets tokens that work', async () => {
    const device = await begin();
    expect(device.body).toEqual({
      device_code: expect.stringMatching(/^[0-9a-f]{40}$/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${host.baseUrl}/git/login/device`,
      expires_in: 900,
      interval: 5,
    });
    expect((await device.poll()).body.error).toBe('authorization_pending');
    // As people type it.
    const typed = device.userCode.toLowerCase().replace('-', ' ');
    const confirm = await answer(place.member, { user_code: typed });
    expect(confirm.html).toContain(`>${device.userCode}</output>`);
    expect(confirm.html).toContain(place.member.email);
    for (const told of [
      '>a program &#60;b&#62;<',
      '>127.0.0.1 (this server itself',
      ' UTC<',
      'If somebody sent you the code',
    ])
      expect(confirm.html).toContain(told);
    host.skip(5);
    expect((await device.poll()).body.error).toBe('authorization_pending');
    expect((await approve(device.userCode)).html).toContain('Your git account is linked');
    host.skip(5);
    const { status, body } = await device.poll();
    expect(status).toBe(200);
    expect(body).toMatchObject({ token_type: 'bearer', expires_in: 28_800, scope: '' });
    const me = await host.call(body.access_token, 'GET', '/user');
    expect(me.body.email).toBe(place.member.email);
  });

  test('is told in a form where it does not ask for JSON', async () => {
    const { clientId } = host.parts.app;
    const { headers, body } = await post('device/code', { client_id: clientId }, '*/*');
    expect(headers.get('content-type')).toStartWith('application/x-www-form-urlencoded');
    expect(new URLSearchParams(body).get('interval')).toBe('5');
    const json = await fetch(`${host.baseUrl}/git/login/device/code`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ client_id: clientId }),
    });
    expect(await json.json()).toHaveProperty('device_code');
  });

  test('that asks too soon is told to wait longer, and longer again, and gets its tokens in the end', async () => {
    const device = await begin();
    expect((await device.poll()).body.error).toBe('authorization_pending');
    expect((await device.poll()).body).toMatchObject({ error: 'slow_down', interval: 10 });
    host.skip(5);
    expect((await device.poll()).body).toMatchObject({ error: 'slow_down', interval: 15 });
    await approve(device.userCode);
    host.skip(10);
    expect((await device.poll()).body).toMatchObject({ error: 'slow_down', interval: 20 });
    host.skip(20);
    expect((await device.poll()).body).toHaveProperty('access_token');
  });

  test('redeems a code once, also of many who try at once', async () => {
    const device = await begin();
    await approve(device.userCode);
    const answers = await Promise.all(Array.from({ length: 8 }, () => device.poll()));
    expect(answers.filter(({ body }) => 'access_token' in body)).toHaveLength(1);
    host.skip(60);
    expect((await device.poll()).body.error).toBe('incorrect_device_code');
  });

  test('that was denied, is too late, or has a code of its own making gets nothing', async () => {
    const denied = await begin();
    expect((await answer(place.member, { user_code: denied.userCode, abort: 'yes' })).html).toContain(
      'denied',
    );
    expect((await denied.poll()).body.error).toBe('access_denied');
    expect((await approve(denied.userCode)).html).toContain('This code has been used');

    const late = await begin();
    await approve(late.userCode);
    host.skip(901);
    expect((await late.poll()).body.error).toBe('expired_token');
    expect((await approve(late.userCode)).html).toContain('This code has expired');

    const open = await begin();
    expect((await open.poll({ device_code: 'f'.repeat(40) })).body.error).toBe('incorrect_device_code');
    const { rows } = await sql<{ code_hash: string; user_code_hash: string }>`
      select code_hash, user_code_hash from svc.git_host_device_codes`.execute(database.db);
    for (const { code_hash } of rows)
      expect((await open.poll({ device_code: code_hash })).body.error).toBe('incorrect_device_code');
    expect(JSON.stringify(rows)).not.toContain(open.userCode);
    expect(JSON.stringify(rows)).not.toContain(open.body.device_code);
  });

  test('of another client, or with another grant, is refused', async () => {
    const device = await begin();
    await approve(device.userCode);
    expect((await device.poll({ client_id: 'Iv1.other' })).body.error).toBe('incorrect_client_credentials');
    expect((await device.poll({ grant_type: 'password' })).body.error).toBe('unsupported_grant_type');
    expect((await post('device/code', { client_id: 'Iv1.other' })).status).toBe(404);
    expect((await device.poll()).body).toHaveProperty('access_token');
  });

  test('of somebody who was suspended before it asked gets nothing', async () => {
    const person = await newUser(database.db, place.tenant.id);
    const device = await begin();
    await answer(person, { user_code: device.userCode, confirm: 'yes' });
    await sql`update svc.users set status = 'suspended' where id = ${person.userId}`.execute(database.db);
    expect((await device.poll()).body.error).toBe('access_denied');
  });
});

test('a refresh token gives new ones, once', async () => {
  const device = await begin();
  await approve(device.userCode);
  const { body } = await device.poll();
  const { clientId } = host.parts.app;
  const renew = (refresh_token: string) =>
    post('oauth/access_token', { client_id: clientId, grant_type: 'refresh_token', refresh_token });
  const renewed = (await renew(body.refresh_token)).body;
  expect((await host.call(renewed.access_token, 'GET', '/user')).status).toBe(200);
  expect((await renew(body.refresh_token)).body.error).toBe('bad_refresh_token');
  expect((await renew(renewed.access_token)).body.error).toBe('bad_refresh_token');
  expect((await host.call(renewed.refresh_token, 'GET', '/user')).status).toBe(401);
});

describe('the page', () => {
  test('asks who is not signed in to sign in, and leads back with the code', async () => {
    const visit = await fetch(`${host.baseUrl}/git/login/device?user_code=BBBB-CCCC`, { redirect: 'manual' });
    expect(visit.status).toBe(303);
    const back = encodeURIComponent('/git/login/device?user_code=BBBB-CCCC');
    expect(visit.headers.get('location')).toBe(`/login?return_to=${back}`);
    const signedIn = await fetch(`${host.baseUrl}/git/login/device?user_code=BBBB-CCCC`, {
      headers: await browserOf(database, place.member),
    });
    expect(await signedIn.text()).toContain('value="BBBB-CCCC"');
  });

  test('takes no answer that another site sends, nor one by a token', async () => {
    const device = await begin();
    const elsewhere = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
    const sent = await answer(place.member, { user_code: device.userCode, confirm: 'yes' }, elsewhere);
    expect(sent.status).toBe(403);
    expect((await device.poll()).body.error).toBe('authorization_pending');
  });

  test('stops who guesses codes after ten, for ten minutes, from wherever they ask', async () => {
    const guesser = await newUser(database.db, place.tenant.id);
    const device = await begin();
    for (let tries = 0; tries < 10; tries++)
      expect((await answer(guesser, { user_code: 'BBBB-BBBB' })).status).toBe(400);
    const stopped = await answer(guesser, { user_code: device.userCode, confirm: 'yes' });
    expect(stopped.status).toBe(429);
    expect(Number(stopped.headers.get('retry-after'))).toBeWithin(300, 601);
    expect((await device.poll()).body.error).toBe('authorization_pending');
    // Others are not stopped, and right codes do not count.
    for (let times = 0; times < 12; times++)
      expect((await answer(place.member, { user_code: device.userCode })).status).toBe(200);
  });

  test('a code says nothing of what it holds: markup is shown as it is', async () => {
    const { html } = await answer(place.admin, { user_code: '"><script>' });
    expect(html).not.toContain('<script>');
  });
});
