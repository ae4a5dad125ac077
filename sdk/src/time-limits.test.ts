import { afterAll, expect, test } from 'bun:test';
import { createAppToken } from './app-token.ts';
import { createClient } from './client.ts';
import { SvcNetworkError } from './errors.ts';
import { createSignIn } from './sign-in.ts';
import { scriptedServer } from './testing.ts';

const server = scriptedServer({ idleTimeout: 0 });
const timeoutMs = 100;
const stop = Promise.withResolvers<Response>();
const never = () => stop.promise;
afterAll(() => stop.resolve(new Response()));

const options = { baseUrl: server.baseUrl, tenant: 'acme', app: 'shop', auth: { apiKey: 'k' }, timeoutMs };
const errorOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

test('the renewal of an app token ends when no answer comes, and the next one works', async () => {
  const names = ['SVC_APP_TOKEN', 'SVC_APP_TOKEN_URL'] as const;
  const before = names.map((name) => process.env[name]);
  Object.assign(process.env, { SVC_APP_TOKEN: 'first', SVC_APP_TOKEN_URL: `${server.baseUrl}/token` });
  const token = createAppToken({ timeoutMs });
  for (const [at, name] of names.entries())
    if (before[at] === undefined) delete process.env[name];
    else process.env[name] = before[at];
  server.answerWith(never, () => Response.json({ access_token: 'second', expires_in: 60 }));
  const renew = () => token?.getToken({ insteadOf: 'first' }) ?? Promise.reject();
  expect(await errorOf(renew())).toBeInstanceOf(SvcNetworkError);
  expect(await renew()).toBe('second');
});

test('a download ends when no answer comes, and when nothing more arrives', async () => {
  const { storage } = createClient(options);
  const url = () => Response.json({ url: `${server.baseUrl}/objects/a` });
  server.answerWith(url, never);
  expect(await errorOf(storage.get('a'))).toBeInstanceOf(SvcNetworkError);
  const stalled = new ReadableStream({
    async pull(controller) {
      controller.enqueue('half');
      await stop.promise;
    },
  });
  server.answerWith(url, () => new Response(stalled));
  const response = await storage.get('a');
  expect(await errorOf(response.text())).toBeInstanceOf(SvcNetworkError);
});

test('a download may take longer than the limit while bytes arrive', async () => {
  const { storage } = createClient({ ...options, timeoutMs: 1_000 });
  async function* slow() {
    for (let piece = 0; piece < 8; piece++) {
      await Bun.sleep(150);
      yield 'x';
    }
  }
  server.answerWith(
    () => Response.json({ url: `${server.baseUrl}/objects/a` }),
    () => new Response(slow() as unknown as ReadableStream, { headers: { 'content-type': 'text/x' } }),
  );
  const response = await storage.get('a');
  expect([response.headers.get('content-type'), await response.text()]).toEqual(['text/x', 'xxxxxxxx']);
});

test('the requests of a sign-in end when no answer comes', async () => {
  const user = { id: 'u', email: 'u@example.test', name: 'U' };
  const stored = JSON.stringify({ accessToken: 'a', refreshToken: 'r', expiresAt: 0, user });
  const storage = { getItem: () => stored, setItem: () => {}, removeItem: () => {} };
  const { baseUrl } = server;
  const signIn = createSignIn({ baseUrl, appId: 'a', redirectUri: `${baseUrl}/back`, storage, timeoutMs });
  server.answerWith(never);
  expect(await errorOf(signIn.getToken())).toBeInstanceOf(SvcNetworkError);
});
