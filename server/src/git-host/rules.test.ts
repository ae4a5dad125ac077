import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { readCgiHead } from './cgi-head.ts';
import { configured } from './git-processes.ts';
import { createLeastSpeed, msFor } from './least-speed.ts';
import { isRepositoryPath } from './read-repository.ts';
import { isSignedToken, readSignedToken, signToken } from './signed-token.ts';
import { createSlots } from './slots.ts';
import { parseSmartHttpPath } from './smart-http-path.ts';
import { changesBetween, defaultBranchOf } from './tell-pushes.ts';
import { newUserCode, typedUserCode } from './user-code.ts';
import { presentedSecret } from './who-asks.ts';

describe('what a CGI program says first', () => {
  test('is its status, and headers that may be passed on', () => {
    const head = readCgiHead(
      Buffer.from('Status: 404 Not Found\r\nContent-Type: text/plain\r\nSet-Cookie: a=b\r\n\r\nbody'),
    );
    expect(head).toEqual({ status: 404, headers: { 'content-type': 'text/plain' }, bodyAt: 68 });
    expect(readCgiHead(Buffer.from('Content-Type: x\n\n'))).toMatchObject({ status: 200, bodyAt: 17 });
  });

  test('may come in pieces, and has an end', () => {
    expect(readCgiHead(Buffer.from('Content-Type: x\r\n'))).toBeNull();
    expect(() => readCgiHead(Buffer.alloc(20_000, 'a'))).toThrow('no head');
  });
});

test('git asks for four things, by names that are such', () => {
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
    ...['/git/acme/app.git/info/refs', '/git/acme/app.git/info/refs?service=git-upload-archive'],
    ...['/git/acme/app.git/info/refs?service=git-upload-pack&x=1', '/git/acme/app.git/config'],
    ...[
      '/git/acme/.git/HEAD',
      '/git/a%2fb/app.git/HEAD',
      '/git/acme/a%20b.git/HEAD',
      '/git/acme/app.git.git/HEAD',
    ],
    ...[
      '/git/acme/app.git/objects/ab/cd',
      '/git/-x/app.git/HEAD',
      '/git/acme/-x.git/HEAD',
      '/git/acme/a/b/HEAD',
    ],
  ])
    expect([bad, parse(bad)]).toEqual([bad, null]);
});

test('a secret comes as a bearer, a token, or the password of any user name', () => {
  const secretOf = (authorization: string) =>
    presentedSecret(new Request('http://h/', { headers: { authorization } }));
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

test('what changed between two looks is told by name', () => {
  const [one, other] = ['1'.repeat(40), '2'.repeat(40)];
  expect(changesBetween({ a: one, b: one, c: one }, { b: other, c: one, d: one })).toEqual([
    { ref: 'a', before: one, after: null },
    { ref: 'b', before: one, after: other },
    { ref: 'd', before: null, after: one },
  ]);
});

test('the default branch stays while it is there, and is the first that comes', () => {
  const refs = (...names: string[]) => Object.fromEntries(names.map((name) => [`refs/heads/${name}`, 'x']));
  expect(defaultBranchOf('main', refs('dev', 'main'))).toBe('main');
  expect(defaultBranchOf('main', refs('dev', 'master'))).toBe('master');
  expect(defaultBranchOf('main', refs('dev'))).toBe('dev');
  expect(defaultBranchOf('main', refs('-x'))).toBe('main');
  expect(defaultBranchOf('main', { 'refs/tags/v1': 'x' })).toBe('main');
});

test('turns are given out up to a number, for one and for all, and come back once', () => {
  const slots = createSlots({ atOnceMax: 3, perHolderMax: 2 });
  const first = slots.take('a');
  slots.take('a');
  expect(slots.take('a')).toBeNull();
  expect(slots.take('b')).not.toBeNull();
  expect(slots.take('c')).toBeNull();
  first?.();
  first?.();
  expect(slots.take('c')).not.toBeNull();
  expect(slots.take('b')).toBeNull();
});

test('who may wait for a turn gets the next that is free for them, or none in the end', async () => {
  const slots = createSlots({ atOnceMax: 2, perHolderMax: 1 });
  const [a, b] = [slots.take('a'), slots.take('b')];
  const [third, second] = [slots.wait('c', 10_000), slots.wait('a', 10_000)];
  b?.();
  const taken = await third;
  expect(taken).not.toBeNull();
  expect(await slots.wait('d', 1)).toBeNull();
  a?.();
  expect(await second).not.toBeNull();
  taken?.();
  expect(slots.take('d')).not.toBeNull();
});

test('less than a kilobyte a second over half a minute is too slow; what git takes itself does not count', () => {
  const slow = createLeastSpeed();
  expect([slow.waited(29_000, 1), slow.waited(29_000, 1)]).toEqual([true, false]);
  const fast = createLeastSpeed();
  expect([fast.waited(29_000, 40_000), fast.waited(2_000, 1), fast.waited(30_000, 31_000)]).toEqual([
    ...[true, true, true],
  ]);
  expect([msFor(10), msFor(65_536)]).toEqual([30_000, 64_000]);
});

test('a signed token is read back as it was made, until it ends; a changed one is none', () => {
  const [key, now] = [randomBytes(32), new Date('2026-01-01T00:00:00Z')];
  const until = now.getTime() + 1000;
  const content = { kind: 'user', userId: 'u1', until } as const;
  const token = signToken(key, content);
  expect(token).toStartWith('svcgu_');
  expect(isSignedToken(token)).toBe(true);
  expect(readSignedToken(key, token, now)).toEqual(content);
  expect(readSignedToken(key, token, new Date(until))).toBeNull();
  expect(readSignedToken(randomBytes(32), token, now)).toBeNull();
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

test('a code is read as people type it', () => {
  const code = newUserCode();
  expect(typedUserCode(code)).toBe(code);
  expect(typedUserCode(` ${code.toLowerCase().replace('-', ' ')} `)).toBe(code);
  for (const bad of ['', 'BBBB', 'AAAA-AAAA', `${code}B`, 'BBBB-BB1B', "BBBB'BBBB"])
    expect(typedUserCode(bad)).toBeNull();
  expect(new Set(Array.from({ length: 200 }, newUserCode)).size).toBe(200);
});

test('paths stay inside a repository', () => {
  for (const good of ['a', 'a/b.txt', '-x', '..a', 'a..b/ü', '.git/config'])
    expect([good, isRepositoryPath(good)]).toEqual([good, true]);
  for (const bad of ['', '/a', 'a/', 'a//b', '..', 'a/../b', '.', './a', 'a\0b', 'a\nb'])
    expect([bad, isRepositoryPath(bad)]).toEqual([bad, false]);
});

test('settings are handed over by the environment', () => {
  expect(configured([['a.b', 'c']])).toEqual({
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'a.b',
    GIT_CONFIG_VALUE_0: 'c',
  });
});
