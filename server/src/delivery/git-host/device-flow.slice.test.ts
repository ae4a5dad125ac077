import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { browserHeaders } from '../../identity/provider/testing.ts';
import { newUser } from '../../testing.ts';
import { type ApiResponse, useGitHost } from './testing.ts';

const env = useGitHost();

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

async function post(
  path: string,
  fields: Record<string, string>,
  accept = 'application/json',
): Promise<ApiResponse> {
  const answer = await fetch(`${env.host.baseUrl}/git/login/${path}`, {
    method: 'POST',
    headers: { accept, 'user-agent': 'a program <b>' },
    body: new URLSearchParams(fields),
  });
  const text = await answer.text();
  const isJson = accept === 'application/json';
  return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text };
}

async function begin() {
  const { clientId } = env.host.deps.app.current();
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
  const page = await fetch(`${env.host.baseUrl}/git/login/device`, {
    method: 'POST',
    headers: { ...(await browserHeaders(env.database, person)), ...headers },
    body: new URLSearchParams(fields),
  });
  return { status: page.status, html: await page.text(), headers: page.headers };
}

const approve = (userCode: string) => answer(env.member, { user_code: userCode, confirm: 'yes' });

describe('a device', () => {
  test('gets working tokens after a signed-in user approved its code', async () => {
    const device = await begin();
    expect(device.body).toEqual({
      device_code: expect.stringMatching(/^[0-9a-f]{40}$/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${env.host.baseUrl}/git/login/device`,
      expires_in: 900,
      interval: 5,
    });
    expect((await device.poll()).body.error).toBe('authorization_pending');
    const typed = device.userCode.toLowerCase().replace('-', ' ');
    const confirm = await answer(env.member, { user_code: typed });
    expect(confirm.html).toContain(`>${device.userCode}</output>`);
    expect(confirm.html).toContain(env.member.email);
    expect(confirm.html).toContain('>a program &#60;b&#62;<');
    expect(confirm.html).toContain('>127.0.0.1 (this server');
    expect(confirm.html).toContain(' UTC<');
    expect(confirm.html).toContain('If somebody sent you the code');
    env.host.skip(5);
    expect((await device.poll()).body.error).toBe('authorization_pending');
    expect((await approve(device.userCode)).html).toContain('Your git account is linked');
    env.host.skip(5);
    const { status, body } = await device.poll();
    expect(status).toBe(200);
    expect(body).toMatchObject({ token_type: 'bearer', expires_in: 28_800, scope: '' });
    const me = await env.host.call(body.access_token, 'GET', '/user');
    expect(me.body.email).toBe(env.member.email);
  });

  test('gets a form-encoded response unless it accepts JSON', async () => {
    const { clientId } = env.host.deps.app.current();
    const { headers, body } = await post('device/code', { client_id: clientId }, '*/*');
    expect(headers.get('content-type')).toStartWith('application/x-www-form-urlencoded');
    expect(new URLSearchParams(body).get('interval')).toBe('5');
    const json = await fetch(`${env.host.baseUrl}/git/login/device/code`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ client_id: clientId }),
    });
    expect(await json.json()).toHaveProperty('device_code');
  });

  test('that polls too often must wait longer each time', async () => {
    const device = await begin();
    expect((await device.poll()).body.error).toBe('authorization_pending');
    expect((await device.poll()).body).toMatchObject({ error: 'slow_down', interval: 10 });
    env.host.skip(5);
    expect((await device.poll()).body).toMatchObject({ error: 'slow_down', interval: 15 });
    await approve(device.userCode);
    env.host.skip(10);
    expect((await device.poll()).body).toMatchObject({ error: 'slow_down', interval: 20 });
    env.host.skip(20);
    expect((await device.poll()).body).toHaveProperty('access_token');
  });

  test('redeems a code once, even with concurrent requests', async () => {
    const device = await begin();
    await approve(device.userCode);
    const answers = await Promise.all(Array.from({ length: 8 }, () => device.poll()));
    expect(answers.filter(({ body }) => 'access_token' in body)).toHaveLength(1);
    env.host.skip(60);
    expect((await device.poll()).body.error).toBe('incorrect_device_code');
  });

  test('gets no tokens for a denied, expired or unknown code', async () => {
    const denied = await begin();
    expect((await answer(env.member, { user_code: denied.userCode, abort: 'yes' })).html).toContain('denied');
    expect((await denied.poll()).body.error).toBe('access_denied');
    expect((await approve(denied.userCode)).html).toContain('This code has been used');

    const late = await begin();
    await approve(late.userCode);
    env.host.skip(901);
    expect((await late.poll()).body.error).toBe('expired_token');
    expect((await approve(late.userCode)).html).toContain('This code has expired');

    const open = await begin();
    expect((await open.poll({ device_code: 'f'.repeat(40) })).body.error).toBe('incorrect_device_code');
    const { rows } = await sql<{ code_hash: string; user_code_hash: string }>`
      select code_hash, user_code_hash from svc.git_host_device_codes`.execute(env.database.db);
    for (const { code_hash } of rows)
      expect((await open.poll({ device_code: code_hash })).body.error).toBe('incorrect_device_code');
    expect(JSON.stringify(rows)).not.toContain(open.userCode);
    expect(JSON.stringify(rows)).not.toContain(open.body.device_code);
  });

  test('with another client id or grant type is rejected', async () => {
    const device = await begin();
    await approve(device.userCode);
    expect((await device.poll({ client_id: 'Iv1.other' })).body.error).toBe('incorrect_client_credentials');
    expect((await device.poll({ grant_type: 'password' })).body.error).toBe('unsupported_grant_type');
    expect((await post('device/code', { client_id: 'Iv1.other' })).status).toBe(404);
    expect((await device.poll()).body).toHaveProperty('access_token');
  });

  test('of a suspended user gets no tokens', async () => {
    const person = await newUser(env.database.db, env.tenant.id);
    const device = await begin();
    await answer(person, { user_code: device.userCode, confirm: 'yes' });
    await sql`update svc.users set status = 'suspended' where id = ${person.userId}`.execute(env.database.db);
    expect((await device.poll()).body.error).toBe('access_denied');
  });
});

test('a refresh token works once', async () => {
  const device = await begin();
  await approve(device.userCode);
  const { body } = await device.poll();
  const { clientId } = env.host.deps.app.current();
  const renew = (refresh_token: string) =>
    post('oauth/access_token', { client_id: clientId, grant_type: 'refresh_token', refresh_token });
  const renewed = (await renew(body.refresh_token)).body;
  expect((await env.host.call(renewed.access_token, 'GET', '/user')).status).toBe(200);
  expect((await renew(body.refresh_token)).body.error).toBe('bad_refresh_token');
  expect((await renew(renewed.access_token)).body.error).toBe('bad_refresh_token');
  expect((await env.host.call(renewed.refresh_token, 'GET', '/user')).status).toBe(401);
});

describe('the page', () => {
  test('redirects to the login page, and back with the code', async () => {
    const visit = await fetch(`${env.host.baseUrl}/git/login/device?user_code=BBBB-CCCC`, {
      redirect: 'manual',
    });
    expect(visit.status).toBe(303);
    const back = encodeURIComponent('/git/login/device?user_code=BBBB-CCCC');
    expect(visit.headers.get('location')).toBe(`/login?return_to=${back}`);
    const signedIn = await fetch(`${env.host.baseUrl}/git/login/device?user_code=BBBB-CCCC`, {
      headers: await browserHeaders(env.database, env.member),
    });
    expect(await signedIn.text()).toContain('value="BBBB-CCCC"');
  });

  test('rejects a form sent by another site', async () => {
    const device = await begin();
    const elsewhere = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
    const sent = await answer(env.member, { user_code: device.userCode, confirm: 'yes' }, elsewhere);
    expect(sent.status).toBe(403);
    expect((await device.poll()).body.error).toBe('authorization_pending');
  });

  test('blocks a user for ten minutes after ten wrong codes', async () => {
    const guesser = await newUser(env.database.db, env.tenant.id);
    const device = await begin();
    for (let tries = 0; tries < 10; tries++)
      expect((await answer(guesser, { user_code: 'BBBB-BBBB' })).status).toBe(400);
    const stopped = await answer(guesser, { user_code: device.userCode, confirm: 'yes' });
    expect(stopped.status).toBe(429);
    expect(Number(stopped.headers.get('retry-after'))).toBeWithin(300, 601);
    expect((await device.poll()).body.error).toBe('authorization_pending');
    // Other users are not blocked, and correct codes do not count.
    for (let times = 0; times < 12; times++)
      expect((await answer(env.member, { user_code: device.userCode })).status).toBe(200);
  });

  test('escapes markup in the code', async () => {
    const { html } = await answer(env.admin, { user_code: '"><script>' });
    expect(html).not.toContain('<script>');
  });
});
