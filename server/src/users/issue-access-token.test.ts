import { expect, test } from 'bun:test';
import { startTestProvider } from '../identity/provider-testing.ts';
import { loginOf } from '../identity/testing.ts';
import { newUser, testDatabase } from '../testing.ts';

test('the OpenID provider takes an issued token for one of its own', async () => {
  const database = await testDatabase();
  const provider = await startTestProvider(database);
  try {
    const user = await newUser(database.db, null);
    const headers = await loginOf(database, user);
    const me = () => fetch(`${provider.baseUrl}/oauth/me`, { headers });
    expect(await (await me()).json()).toEqual({ sub: user.userId, email: user.email, name: 'Someone' });
    const token = headers.authorization.slice('Bearer '.length);
    const revoked = await provider.post('/oauth/token/revocation', { token, client_id: 'svc-cli' });
    expect(revoked.status).toBe(200);
    expect((await me()).status).toBe(401);
  } finally {
    await provider.stop();
    await database.close();
  }
});
