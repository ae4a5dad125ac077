import { describe, expect, test } from 'bun:test';
import { fixedKey, randomText } from '../../core/keys.ts';
import { configEnvironment } from '../../drivers/git/run-git.ts';
import { msAllowedFor, requireMinimumRate } from '../minimum-rate.ts';
import { readSecret } from './authenticate.ts';
import type { PushMessage } from './deps.ts';
import { generateUserCode, parseUserCode } from './device-flow.ts';
import { appendMessages, parseCgiHead } from './http-backend.ts';
import { parseSmartHttpPath } from './paths.ts';
import { chooseDefaultBranch, diffRefs, parsePushHead, readPushHead } from './pushes.ts';
import { isRepositoryPath } from './read-repository.ts';
import { createConcurrencyLimit } from './smart-http.ts';
import { isSignedToken, readSignedToken, signToken } from './tokens.ts';

describe('a CGI header', () => {
  test('is parsed into the status and the forwarded headers', () => {
    const head = parseCgiHead(
      Buffer.from('Status: 404 Not Found\r\nContent-Type: text/plain\r\nSet-Cookie: a=b\r\n\r\nbody'),
    );
    expect(head).toEqual({ status: 404, headers: { 'content-type': 'text/plain' }, bodyAt: 68 });
    expect(parseCgiHead(Buffer.from('Content-Type: x\n\n'))).toMatchObject({ status: 200, bodyAt: 17 });
  });

  test('can arrive in several chunks, up to a limit', () => {
    expect(parseCgiHead(Buffer.from('Content-Type: x\r\n'))).toBeNull();
    expect(() => parseCgiHead(Buffer.alloc(20_000, 'a'))).toThrow('no CGI header');
  });
});

test('only the four paths of the smart protocol with valid names are accepted', () => {
  const parse = (text: string) => parseSmartHttpPath(new URL(text, 'http://h'));
  expect(parse('/git/acme/app.git/info/refs?service=git-upload-pack')).toEqual({
    owner: 'acme',
    repo: 'app',
    file: 'info/refs',
    service: 'git-upload-pack',
    method: 'GET',
  });
  expect(parse('/git/acme/app/git-receive-pack')).toMatchObject({ repo: 'app', method: 'POST' });
  expect(parse('/git/acme/app.git/HEAD')).toMatchObject({ service: null, method: 'GET' });
  for (const bad of [
    '/git/acme/app.git/info/refs',
    '/git/acme/app.git/info/refs?service=git-upload-archive',
    '/git/acme/app.git/info/refs?service=git-upload-pack&x=1',
    '/git/acme/app.git/config',
    '/git/acme/.git/HEAD',
    '/git/a%2fb/app.git/HEAD',
    '/git/acme/a%20b.git/HEAD',
    '/git/acme/app.git.git/HEAD',
    '/git/acme/app.git/objects/ab/cd',
    '/git/-x/app.git/HEAD',
    '/git/acme/-x.git/HEAD',
    '/git/acme/a/b/HEAD',
  ])
    expect([bad, parse(bad)]).toEqual([bad, null]);
});

test('a secret is read from Bearer, token or the password of Basic', () => {
  const secretOf = (authorization: string) =>
    readSecret(new Request('http://h/', { headers: { authorization } }));
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
  expect(secretOf('Bearer abc')).toBe('abc');
  expect(secretOf('token abc')).toBe('abc');
  expect(secretOf(basic('x-access-token:abc'))).toBe('abc');
  expect(secretOf(basic('abc:x-oauth-basic'))).toBe('abc');
  expect(secretOf(basic('abc:'))).toBe('abc');
  for (const bad of [
    '',
    'Bearer',
    'Digest abc',
    basic(':'),
    basic('a:b c'),
    basic('a:b\nc'),
    'Bearer a b',
    'Basic %%',
  ])
    expect([bad, secretOf(bad)]).toEqual([bad, null]);
});

test('diffRefs lists created, changed and deleted refs', () => {
  const [one, other] = ['1'.repeat(40), '2'.repeat(40)];
  expect(diffRefs({ a: one, b: one, c: one }, { b: other, c: one, d: one })).toEqual([
    { ref: 'a', before: one, after: null },
    { ref: 'b', before: one, after: other },
    { ref: 'd', before: null, after: one },
  ]);
});

test('the default branch stays while it exists', () => {
  const refs = (...names: string[]) => Object.fromEntries(names.map((name) => [`refs/heads/${name}`, 'x']));
  expect(chooseDefaultBranch('main', refs('dev', 'main'))).toBe('main');
  expect(chooseDefaultBranch('main', refs('dev', 'master'))).toBe('master');
  expect(chooseDefaultBranch('main', refs('dev'))).toBe('dev');
  expect(chooseDefaultBranch('main', refs('-x'))).toBe('main');
  expect(chooseDefaultBranch('main', { 'refs/tags/v1': 'x' })).toBe('main');
});

test('the concurrency limit holds in total and for each key', () => {
  const slots = createConcurrencyLimit({ max: 3, perKeyMax: 2 });
  const first = slots.tryAcquire('a');
  slots.tryAcquire('a');
  expect(slots.tryAcquire('a')).toBeNull();
  expect(slots.tryAcquire('b')).not.toBeNull();
  expect(slots.tryAcquire('c')).toBeNull();
  first?.();
  first?.();
  expect(slots.tryAcquire('c')).not.toBeNull();
  expect(slots.tryAcquire('b')).toBeNull();
});

test('a waiting caller gets the next free slot, or null after the timeout', async () => {
  const slots = createConcurrencyLimit({ max: 2, perKeyMax: 1 });
  const [a, b] = [slots.tryAcquire('a'), slots.tryAcquire('b')];
  const [third, second] = [slots.acquire('c', 10_000), slots.acquire('a', 10_000)];
  b?.();
  const taken = await third;
  expect(taken).not.toBeNull();
  expect(await slots.acquire('d', 1)).toBeNull();
  a?.();
  expect(await second).not.toBeNull();
  taken?.();
  expect(slots.tryAcquire('d')).not.toBeNull();
});

test('a body must arrive at a minimum rate, after a slow start', async () => {
  const receive = async (waits: [ms: number, bytes: number][]) => {
    let now = 0;
    async function* pieces() {
      for (const [ms, bytes] of waits) {
        now += ms;
        yield new Uint8Array(bytes);
      }
    }
    let received = 0;
    for await (const _ of requireMinimumRate(pieces(), () => now)) received++;
    return received;
  };
  const slow: [number, number][] = [
    [29_000, 1],
    [29_000, 1],
  ];
  expect(await receive(slow.slice(1))).toBe(1);
  await expect(receive(slow)).rejects.toMatchObject({ code: 'request_timeout' });
  const fast: [number, number][] = [
    [29_000, 40_000],
    [2_000, 1],
    [30_000, 31_000],
  ];
  expect(await receive(fast)).toBe(3);
  expect([msAllowedFor(10), msAllowedFor(65_536)]).toEqual([30_000, 64_000]);
});

test('a signed token is valid until it expires; a changed one is rejected', () => {
  const [key, now] = [fixedKey(randomText()), new Date('2026-01-01T00:00:00Z')];
  const until = now.getTime() + 1000;
  const content = { kind: 'user', userId: 'u1', until } as const;
  const token = signToken(key, content);
  expect(token).toStartWith('svcgu_');
  expect(isSignedToken(token)).toBe(true);
  expect(readSignedToken(key, token, now)).toEqual(content);
  expect(readSignedToken(key, token, new Date(until))).toBeNull();
  expect(readSignedToken(fixedKey(randomText()), token, now)).toBeNull();
  const [text = '', mac] = token.slice('svcgu_'.length).split('.');
  const forged = Buffer.from(JSON.stringify({ ...content, userId: 'u2' })).toString('base64url');
  for (const other of [
    `svcgu_${forged}.${mac}`,
    `svcgs_${text}.${mac}`,
    `svcgu_${text}.`,
    `svcgu_${text}`,
    text,
  ])
    expect([other, readSignedToken(key, other, now)]).toEqual([other, null]);
});

test('a user code is accepted in any case and with spaces', () => {
  const code = generateUserCode();
  expect(parseUserCode(code)).toBe(code);
  expect(parseUserCode(` ${code.toLowerCase().replace('-', ' ')} `)).toBe(code);
  for (const bad of ['', 'BBBB', 'AAAA-AAAA', `${code}B`, 'BBBB-BB1B', "BBBB'BBBB"])
    expect(parseUserCode(bad)).toBeNull();
  expect(new Set(Array.from({ length: 200 }, generateUserCode)).size).toBe(200);
});

test('repository paths cannot leave the repository', () => {
  for (const good of ['a', 'a/b.txt', '-x', '..a', 'a..b/ü', '.git/config'])
    expect([good, isRepositoryPath(good)]).toEqual([good, true]);
  for (const bad of ['', '/a', 'a/', 'a//b', '..', 'a/../b', '.', './a', 'a\0b', 'a\nb'])
    expect([bad, isRepositoryPath(bad)]).toEqual([bad, false]);
});

test('settings are passed by the environment', () => {
  expect(configEnvironment({ 'a.b': 'c' })).toEqual({
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'a.b',
    GIT_CONFIG_VALUE_0: 'c',
  });
});

async function* chunks(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text, 'latin1');
}

async function* some(...texts: PushMessage[]) {
  yield* texts;
}

async function answer(texts: string[], ...messages: PushMessage[]): Promise<string> {
  let all = '';
  for await (const piece of appendMessages(chunks(...texts), async () => some(...messages)))
    all += Buffer.from(piece).toString('latin1');
  return all;
}

const report = '0015\x01000eunpack ok\n0000';

test('the message comes before the final flush packet, however the response is chunked', async () => {
  const whole = `${report}0000`;
  const expected = `${report}000b\x02hello\n0000`;
  for (let at = 0; at <= whole.length; at++)
    expect(await answer([whole.slice(0, at), whole.slice(at)], 'hello\n')).toBe(expected);
  expect(await answer([...whole], 'hello\n')).toBe(expected);
});

test('several messages are several packets, an empty one too, and a long one is cut', async () => {
  const whole = `${report}0000`;
  expect(await answer([whole])).toBe(whole);
  expect(await answer([whole], 'a\n', '', 'b\n')).toBe(`${report}0007\x02a\n0005\x020007\x02b\n0000`);
  expect(await answer([whole], { failure: 'c\n' })).toBe(`${report}0007\x03c\n0000`);
  expect(await answer([whole], 'x'.repeat(65_516))).toBe(`${report}fff0\x02${'x'.repeat(65_515)}0000`);
});

test.each([
  ['without side bands', ['000eunpack ok\n0000'], 'hello\n'],
  ['that is incomplete', ['0015\x01000eunp'], 'hello\n'],
  ['that is empty', [], 'hello\n'],
  ['with only a flush packet', ['0000'], 'hello\n'],
])('a response %s is passed unchanged', async (_, texts, message) => {
  expect(await answer(texts, message)).toBe(texts.join(''));
});

const zero = '0'.repeat(40);
const one = '1'.repeat(40);
const packet = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text;

test('the head of a push names its branches and options, however it is chunked or compressed', async () => {
  const commands = [
    packet(`${zero} ${one} refs/heads/a/b\0 report-status push-options agent=git/2.39`),
    packet(`${one} ${zero} refs/heads/gone`),
    packet(`${zero} ${one} refs/tags/v1`),
  ];
  const whole = `${commands.join('')}0000${packet('wait')}${packet('x=1\n')}0000PACK`;
  const expected = { branches: ['a/b'], options: ['wait', 'x=1'], isEmpty: false };
  for (let at = 1; at < whole.length; at++) {
    const body = chunks(whole.slice(0, at), whole.slice(at));
    const { bytes, ...head } = await readPushHead(body, { isCompressed: false });
    let all = bytes.toString('latin1');
    for await (const rest of body) all += rest.toString('latin1');
    expect([head, all]).toEqual([expected, whole]);
  }
  const compressed = Buffer.from(Bun.gzipSync(whole)).toString('latin1');
  expect(await readPushHead(chunks(...compressed), { isCompressed: true })).toMatchObject(expected);
  expect(parsePushHead(Buffer.from(`${commands[2]}0000PACK`))).toMatchObject({ branches: [], options: [] });
});

test.each([
  ['0000', true],
  ['', true],
  ['zzzz', true],
  ['00', false],
  [packet('x').repeat(100_000), false],
])('a push without commands, or that cannot be read, has no branches: %#', async (text, isEmpty) => {
  const head = await readPushHead(chunks(text), { isCompressed: false });
  expect(head).toMatchObject({ branches: [], options: [], isEmpty });
});
