import { expect, test } from 'bun:test';
import { cliClientId, localGrantType } from '@svc/contract/identity.ts';
import { sql } from 'kysely';
import { useFixture } from '../../../../scripts/use-fixture.ts';
import { isLoopback } from './local-login.ts';
import { newUser, refresh, startTestProvider, testAddressHeader, useProvider } from './provider-testing.ts';

const secret = 'a secret in the data dir';
const { database, provider } = useProvider({ localSecret: secret, localUser: async () => user.id });
const user = useFixture(() => newUser(database, 'none'));

const logIn = (
  fields: Record<string, string> = {},
  address = '127.0.0.1',
  at = provider,
  headers: Record<string, string> = {},
) =>
  at.post(
    '/oauth/token',
    { grant_type: localGrantType, client_id: cliClientId, local_secret: secret, ...fields },
    // The first header sets the test server's client address; the second is what a client could forge.
    { [testAddressHeader]: address, 'x-svc-client-address': '127.0.0.1', ...headers },
  );

test('the secret signs in the local user, on the server machine', async () => {
  const { status, body } = await logIn();
  expect(status).toBe(200);
  expect(body).toMatchObject({
    token_type: 'Bearer',
    expires_in: 3600,
    scope: 'openid email profile offline_access',
  });
  expect(await provider.userOf(body.access_token)).toBe(user.id);
  const renewed = await refresh(provider, body.refresh_token);
  expect(renewed.status).toBe(200);
  expect((await logIn({}, '::1')).status).toBe(200);
});

test('the secret is refused from other machines, whatever headers they send', async () => {
  expect((await logIn({}, '192.0.2.1')).body).toMatchObject({ error: 'access_denied' });
  expect((await logIn({}, '')).body).toMatchObject({ error: 'access_denied' });
});

test('a forwarded request is never local', async () => {
  for (const header of ['x-forwarded-for', 'forwarded']) {
    for (const value of ['127.0.0.1', 'for=127.0.0.1', '192.0.2.1', 'unknown']) {
      const { body } = await logIn({}, '127.0.0.1', provider, { [header]: value, 'x-svc-forwarded': '' });
      expect(body).toMatchObject({ error: 'access_denied' });
    }
  }
});

test('a wrong, empty or missing secret is refused', async () => {
  for (const local_secret of ['', 'a secret in the data di', `${secret}x`]) {
    expect((await logIn({ local_secret })).body).toMatchObject({ error: 'invalid_grant' });
  }
});

test('other clients cannot use this grant', async () => {
  expect((await logIn({ client_id: 'svc-console' })).status).toBe(400);
});

test('without a local user, or with a suspended one, nobody is signed in', async () => {
  await sql`update svc.users set status = 'suspended' where id = ${user.id}`.execute(database.db);
  expect((await logIn()).body).toMatchObject({ error: 'invalid_grant' });
  await sql`update svc.users set status = 'active' where id = ${user.id}`.execute(database.db);
  const nobody = await startTestProvider(database, { localSecret: secret });
  expect((await logIn({}, '127.0.0.1', nobody)).body).toMatchObject({ error: 'invalid_grant' });
  await nobody.stop();
});

test('the grant does not exist when local login is disabled', async () => {
  const off = await startTestProvider(database, { localUser: async () => user.id });
  expect((await logIn({}, '127.0.0.1', off)).body).toMatchObject({ error: 'unsupported_grant_type' });
  await off.stop();
});

test('only loopback addresses are local', () => {
  expect(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'].map(isLoopback)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(['128.0.0.1', '10.0.0.1', '127.0.0.1.evil', 'localhost', '', '::2'].some(isLoopback)).toBe(false);
});
