import { afterAll, expect, test } from 'bun:test';
import { createAppToken } from './app-token.ts';
import { createClient } from './client.ts';
import { emptyPage, problem, type Seen, scriptedServer } from './testing.ts';

const server = scriptedServer();
const names = ['SVC_API_URL', 'SVC_TENANT', 'SVC_APP', 'SVC_APP_TOKEN', 'SVC_APP_TOKEN_URL'] as const;
const before = names.map((name) => [name, process.env[name]] as const);
Object.assign(process.env, {
  SVC_API_URL: server.baseUrl,
  SVC_TENANT: 'acme',
  SVC_APP: 'shop',
  SVC_APP_TOKEN: 'first',
  SVC_APP_TOKEN_URL: `${server.baseUrl}/app-token/secret`,
});
afterAll(() => {
  for (const [name, value] of before)
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
});

const renewed = (access_token: string) =>
  Response.json({ access_token, token_type: 'Bearer', expires_in: 3600 });

test('on a server of the platform, a client without options acts as the app', async () => {
  server.answerWith(emptyPage);
  await createClient().table('pets').list();
  const [call] = server.seen;
  expect([call!.path, call!.headers.get('authorization')]).toEqual(['/data/acme/shop/pets', 'Bearer first']);
});

test('a token that has expired is renewed once for all calls', async () => {
  const answer = ({ path, headers }: Seen) => {
    if (path === '/app-token/secret') return renewed('second');
    return headers.get('authorization') === 'Bearer second' ? emptyPage() : problem(401, 'unauthenticated');
  };
  server.answerWith(answer);
  const pets = createClient().table('pets');
  await Promise.all([pets.list(), pets.list(), pets.list()]);
  const renewals = server.seen.filter(({ path }) => path === '/app-token/secret');
  expect(renewals.map(({ method }) => method)).toEqual(['POST']);
});

test('a renewed token is replaced before it expires', async () => {
  let time = 0;
  let made = 0;
  server.answerWith(() => renewed(`token ${++made}`));
  const token = createAppToken({ now: () => time });
  expect(await token?.getToken({ insteadOf: 'first' })).toBe('token 1');
  time += 54 * 60_000;
  expect(await token?.getToken()).toBe('token 1');
  time += 60_000;
  expect(await token?.getToken()).toBe('token 2');
});

test('a command, which gets no URL for further tokens, uses its own until the server refuses it', async () => {
  delete process.env.SVC_APP_TOKEN_URL;
  server.answerWith(emptyPage);
  await createClient().table('pets').list();
  expect(server.seen.map(({ headers }) => headers.get('authorization'))).toEqual(['Bearer first']);
  server.answerWith(() => problem(401, 'unauthenticated'));
  expect(createClient().table('pets').list()).rejects.toThrow();
});

test('without the platform, the missing option is named', () => {
  delete process.env.SVC_APP_TOKEN;
  expect(() => createClient()).toThrow('createClient needs auth');
});
