import { expect, test } from 'bun:test';
import { generateKeyPairSync, sign } from 'node:crypto';
import { userKeysPath } from '@svc/contract/user-keys.ts';
import { type UserOptions, userOf } from './server-user.ts';

const baseUrl = 'https://svc.test';
const appId = 'app-1';
const at = 1_800_000_000;

function platform() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = Bun.randomUUIDv7();
  let asked = 0;
  const keysUrl = `${baseUrl}/${kid}`;
  const options: UserOptions = {
    baseUrl,
    appId,
    keysUrl,
    now: () => at * 1000,
    fetch: async (url) => {
      asked++;
      expect(url).toBe(keysUrl);
      return Response.json({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid }] });
    },
  };
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const identity = { sub: 'u1', email: 'a@b.c', name: 'Ann', tenant: 'acme', relation: 'owner' };
  const token = (claims: object = {}, head: object = {}) => {
    const payload = { iss: baseUrl, aud: appId, iat: at, exp: at + 60, ...identity, ...claims };
    const text = `${encoded({ alg: 'ES256', kid, ...head })}.${encoded(payload)}`;
    const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  };
  return { options, token, asked: () => asked };
}

const ann = { id: 'u1', email: 'a@b.c', name: 'Ann', tenant: 'acme', relation: 'owner' as const };
const of = (token: string) => ({ 'x-svc-user': token });

test('the user is read from each form of headers, with one request for the keys', async () => {
  const { options, token, asked } = platform();
  const headers = of(token());
  expect(await userOf(new Request('http://app/', { headers }), options)).toEqual(ann);
  expect(await userOf(new Headers(headers), options)).toEqual(ann);
  expect(await userOf({ headers }, options)).toEqual(ann);
  expect(await userOf(headers, options)).toEqual(ann);
  expect(asked()).toBe(1);
});

test('without the header there is no user and no request', async () => {
  const { options, asked } = platform();
  expect(await userOf(new Headers(), options)).toBeNull();
  expect(asked()).toBe(0);
});

test('a token with a wrong signature, audience or age is ignored', async () => {
  const { options, token } = platform();
  const other = platform();
  const [head = '', , signature = ''] = token().split('.');
  const [, otherBody = ''] = token({ sub: 'u2' }).split('.');
  for (const wrong of [
    token({ aud: 'app-2' }),
    token({ iss: 'https://evil.test' }),
    token({ exp: at - 11 }),
    token({ exp: undefined }),
    token({}, { alg: 'none' }),
    token({}, { alg: 'HS256' }),
    token({}, { kid: 'unknown' }),
    other.token(),
    `${head}.${otherBody}.${signature}`,
    `${head}.${otherBody}.`,
    `${token()}.more`,
    'a.b.c',
    '%.%.%',
    '',
  ]) {
    expect([wrong, await userOf(of(wrong), options)]).toEqual([wrong, null]);
  }
  expect(await userOf(of(token({ exp: at - 5 })), options)).toEqual(ann);
});

test('parallel calls share one request for the keys', async () => {
  const { options, token, asked } = platform();
  const all = await Promise.all(Array.from({ length: 20 }, () => userOf(of(token()), options)));
  expect(all).toEqual(Array.from({ length: 20 }, () => ann));
  expect(asked()).toBe(1);
});

test('an error of the key request is thrown, and the request is repeated after a pause', async () => {
  const { options, token, asked } = platform();
  let now = at * 1000;
  let answer: 'fails' | 'refuses' | 'works' = 'fails';
  let tried = 0;
  const flaky: UserOptions = {
    ...options,
    now: () => now,
    async fetch(url, init) {
      tried++;
      if (answer === 'fails') throw new Error('no way there');
      if (answer === 'refuses') return new Response('', { status: 503 });
      return (options.fetch as NonNullable<UserOptions['fetch']>)(url, init);
    },
  };
  const come = () => Promise.allSettled(Array.from({ length: 5 }, () => userOf(of(token()), flaky)));
  const reasons = async () =>
    new Set((await come()).map((each) => (each.status === 'rejected' ? String(each.reason) : 'known')));
  const unread = 'Error: The keys of the platform could not be read:';
  expect([...(await reasons())]).toEqual([`${unread} no way there`]);
  expect([...(await reasons())]).toEqual([`${unread} no way there`]);
  expect(tried).toBe(1);
  now += 2_000;
  answer = 'refuses';
  expect([...(await reasons())]).toEqual([`${unread} it answered 503.`]);
  answer = 'works';
  expect([...(await reasons())]).toEqual([`${unread} it answered 503.`]);
  now += 2_000;
  expect([...(await reasons())]).toEqual(['known']);
  expect([tried, asked()]).toEqual([3, 1]);
});

test('the URL of the keys defaults to that of the platform', async () => {
  const { options, token } = platform();
  const { keysUrl: _, ...rest } = options;
  const asked: string[] = [];
  const base = 'https://keys.test';
  const answer = {
    ...rest,
    baseUrl: base,
    async fetch(url: string) {
      asked.push(url);
      return Response.json({ keys: [] });
    },
  };
  expect(await userOf(of(token()), answer)).toBeNull();
  expect(asked).toEqual([`${base}${userKeysPath}`]);
});
