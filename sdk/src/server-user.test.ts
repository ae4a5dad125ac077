import { expect, test } from 'bun:test';
import { generateKeyPairSync, sign } from 'node:crypto';
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
    ...{ baseUrl, appId, keysUrl, now: () => at * 1000 },
    fetch: async (url) => {
      asked++;
      expect(url).toBe(keysUrl);
      return Response.json({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid }] });
    },
  };
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const says = { sub: 'u1', email: 'a@b.c', name: 'Ann', tenant: 'acme', relation: 'owner' };
  const token = (claims: object = {}, head: object = {}) => {
    const whole = { iss: baseUrl, aud: appId, iat: at, exp: at + 60, ...says, ...claims };
    const text = `${encoded({ alg: 'ES256', kid, ...head })}.${encoded(whole)}`;
    const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  };
  return { options, token, asked: () => asked };
}

const ann = { id: 'u1', email: 'a@b.c', name: 'Ann', tenant: 'acme', relation: 'owner' as const };
const of = (token: string) => ({ 'x-svc-user': token });

test('whom the platform tells of is known, from each form of headers, with one look at the keys', async () => {
  const { options, token, asked } = platform();
  const headers = of(token());
  expect(await userOf(new Request('http://app/', { headers }), options)).toEqual(ann);
  expect(await userOf(new Headers(headers), options)).toEqual(ann);
  expect(await userOf({ headers }, options)).toEqual(ann);
  expect(await userOf(headers, options)).toEqual(ann);
  expect(asked()).toBe(1);
});

test('without the header there is nobody, and nothing is asked', async () => {
  const { options, asked } = platform();
  expect(await userOf(new Headers(), options)).toBeNull();
  expect(asked()).toBe(0);
});

test('what was signed by others, for others, too long ago or not at all counts for nothing', async () => {
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
