import { expect, test } from 'bun:test';
import { newUser, testDatabase } from '../../testing.ts';
import { startTestProvider } from '../provider/provider-testing.ts';
import { loginHeaders } from '../provider/testing.ts';

test('the OpenID provider accepts an issued token', async () => {
  const database = await testDatabase();
  const provider = await startTestProvider(database);
  try {
    const user = await newUser(database.db, null);
    const headers = await loginHeaders(database, user);
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
