import { beforeEach, expect, onTestFinished, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useFixture } from '../../../../scripts/use-fixture.ts';
import { readConfig } from '../../config.ts';
import { ConfigError } from '../../core/config-error.ts';
import { Failure } from '../../core/problem.ts';
import { failureCode } from '../testing.ts';
import { gitHostConformance } from './conformance-testing.ts';
import { isUrlBelow } from './octokit-git-host.ts';
import { localUrl, openGitHost } from './open-git-host.ts';
import { createTestClient, startTestGitHub } from './testing/github-server.ts';

gitHostConformance('GitHub', startTestGitHub);
const world = useFixture(startTestGitHub, (it) => it.stop());
beforeEach(() => {
  world.server.instead = null;
  world.server.codes.verificationUri = null;
});

const html = '<!doctype html><title>Sign in to the proxy</title>';
const page = (status: number) => () =>
  new Response(html, { status, headers: { 'content-type': 'text/html; charset=utf-8' } });
const asJson =
  (body: unknown, status: number, headers: Record<string, string> = {}) =>
  () =>
    Response.json(body, { status, headers });

/** One call of each kind. */
const calls = () => {
  const { host, member } = world;
  const repo = { owner: 'octo-org', name: 'any' };
  const file = { path: 'a', ref: 'main', bytesMax: 10 };
  return {
    begin: () => host.beginDeviceFlow(),
    poll: () => host.pollDeviceFlow('x'.repeat(40)),
    refresh: () => host.refresh('ghr_x'),
    account: () => host.asUser(member.token).account(),
    installations: () => host.asUser(member.token).installations(),
    repository: () => host.asUser(member.token).repository(repo),
    commit: () => host.asUser(member.token).commit(repo, 'main'),
    file: () => host.asUser(member.token).readFile(repo, file),
    byRepo: () => host.installationOfRepo(repo),
    byOwner: () => host.installationOfOwner('octo-org'),
    // A new installation each time, because tokens are cached.
    credentials: () => host.asInstallation(Math.ceil(Math.random() * 1e9)).credentials(),
  };
};

test.each([
  ['the page of a proxy with status 200', page(200)],
  ['the page of a proxy with status 404', page(404)],
  ['the login page of a proxy', page(403)],
  ['a server error', asJson({ message: 'Server Error' }, 502)],
  ['a server error without a body', () => new Response(null, { status: 503 })],
  ['an empty object', asJson({}, 200)],
  ['a list', asJson([1, 2], 200)],
  [
    'truncated JSON',
    () => new Response('{"id": 1, "lo', { headers: { 'content-type': 'application/json' } }),
  ],
  [
    'an exceeded rate limit',
    asJson({ message: 'API rate limit exceeded' }, 403, { 'x-ratelimit-remaining': '0' }),
  ],
  [
    'a secondary rate limit',
    asJson({ message: 'You have exceeded a secondary rate limit' }, 429, { 'retry-after': '60' }),
  ],
])('a host that responds with %s is unavailable', async (_, instead) => {
  world.server.instead = instead;
  for (const [name, ask] of Object.entries(calls())) {
    const before = world.server.requests.length;
    expect([name, await failureCode(ask())]).toEqual([name, 'git_host_unavailable']);
    // No retries; an owner is looked up as organization and as user.
    expect(world.server.requests.length - before).toBeLessThanOrEqual(2);
  }
});

test('an endless response is cut off', async () => {
  const piece = new TextEncoder().encode(' '.repeat(1024 * 1024));
  let sent = 0;
  world.server.instead = () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          sent += piece.byteLength;
          if (sent > 200 * piece.byteLength) controller.close();
          else controller.enqueue(piece);
        },
      }),
      { headers: { 'content-type': 'application/json' } },
    );
  expect(await failureCode(world.host.asUser(world.member.token).account())).toBe('git_host_unavailable');
  expect(sent).toBeLessThan(150 * piece.byteLength);
});

test('an unreachable host is unavailable', async () => {
  const nowhere = createTestClient({ ...world.server, web: 'http://127.0.0.1:9' });
  expect(await failureCode(nowhere.beginDeviceFlow())).toBe('git_host_unavailable');
  expect(await failureCode(nowhere.installation(1))).toBe('git_host_unavailable');
  expect((await nowhere.check()).ok).toBe(false);
});

test('errors contain no token and nothing of the response', async () => {
  world.server.instead = page(500);
  for (const ask of Object.values(calls())) {
    const error = await ask().catch((it: unknown) => it);
    const text = `${Bun.inspect(error)} ${JSON.stringify(error)}`;
    expect(error).toBeInstanceOf(Failure);
    for (const secret of [world.member.token, 'x'.repeat(40), 'ghr_x', 'Sign in to the proxy'])
      expect(text).not.toContain(secret);
  }
});

test('a verification URL on another host is rejected', async () => {
  const { host, server } = world;
  for (const uri of [
    'https://github.com.evil.example/login/device',
    'http://127.0.0.1:1/login/device',
    'javascript:x',
  ]) {
    server.codes.verificationUri = uri;
    expect([uri, await failureCode(host.beginDeviceFlow())]).toEqual([uri, 'git_host_unavailable']);
  }
  expect(isUrlBelow('https://github.com/login/device', 'https://github.com')).toBe(true);
  expect(isUrlBelow('https://a.example/git/login/device', 'https://a.example/git')).toBe(true);
  for (const [address, web] of [
    ['https://a.example/gitx/login', 'https://a.example/git'],
    ['https://a.example/git', 'https://a.example/git'],
    ['http://github.com/login/device', 'https://github.com'],
    ['https://u:p@github.com/login', 'https://github.com'],
    ['https://a.example/git/../x', 'https://a.example/git'],
  ] as const)
    expect([address, isUrlBelow(address, web)]).toEqual([address, false]);
});

test('a wrong key or ID of the app is reported', async () => {
  world.server.instead = asJson({ message: 'A JSON web token could not be decoded' }, 401);
  expect(await world.host.check()).toEqual({ ok: false, detail: expect.stringContaining('key of the app') });
});

const github = (keyFile: string) => ({
  SVC_GIT_HOST: 'github',
  SVC_GIT_HOST_CLIENT_ID: 'Iv1.0123456789abcdef',
  SVC_GIT_HOST_APP_ID: '12',
  SVC_GIT_HOST_APP_SLUG: 'svc-test',
  SVC_GIT_HOST_PRIVATE_KEY_FILE: keyFile,
  SVC_GIT_HOST_WEBHOOK_SECRET: 'a secret of the hooks',
});
const builtIn = {
  current: () => {
    throw new Error('not called');
  },
  accepted: () => [],
};

test('errors name the missing, wrong or unused variable', async () => {
  expect(readConfig({}).gitHost).toEqual({ kind: 'built-in' });
  const all = github('/keys/app.pem');
  expect(readConfig(all).gitHost).toMatchObject({
    webUrl: 'https://github.com',
    apiUrl: 'https://api.github.com',
    privateKeyFile: '/keys/app.pem',
  });
  const own = { ...all, SVC_GIT_HOST_URL: 'https://git.example.com/' };
  expect(readConfig(own).gitHost).toMatchObject({ apiUrl: 'https://git.example.com/api/v3' });
  const wrong = (env: Record<string, string>) => {
    try {
      readConfig(env);
    } catch (error) {
      return error instanceof ConfigError ? error.variable : error;
    }
  };
  for (const variable of Object.keys(all).slice(1)) expect(wrong({ ...all, [variable]: '' })).toBe(variable);
  expect(wrong({ ...all, SVC_GIT_HOST: 'gitlab' })).toBe('SVC_GIT_HOST');
  expect(wrong({ ...all, SVC_GIT_HOST_URL: 'github.com' })).toBe('SVC_GIT_HOST_URL');
  expect(wrong({ ...all, SVC_GIT_HOST_API_URL: 'ftp://x' })).toBe('SVC_GIT_HOST_API_URL');
  expect(wrong({ ...all, SVC_GIT_HOST_APP_ID: 'twelve' })).toBe('SVC_GIT_HOST_APP_ID');
  expect(wrong({ ...all, SVC_GIT_HOST_WEBHOOK_SECRET: 'short' })).toBe('SVC_GIT_HOST_WEBHOOK_SECRET');
  expect(wrong({ SVC_GIT_HOST_APP_ID: '12' })).toBe('SVC_GIT_HOST_APP_ID');
});

test('an invalid key file is reported by its variable, and installUrl points to the app', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-key-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [good, bad] = [join(folder, 'good.pem'), join(folder, 'bad.pem')];
  writeFileSync(good, world.server.privateKey);
  writeFileSync(bad, 'no key');
  for (const file of [bad, join(folder, 'none.pem')]) {
    const error = await openGitHost(readConfig(github(file)), { builtIn }).catch((it: unknown) => it);
    expect(error).toMatchObject({ name: 'ConfigError', variable: 'SVC_GIT_HOST_PRIVATE_KEY_FILE' });
  }
  const host = await openGitHost(readConfig(github(good)), { builtIn });
  expect([host.isBuiltIn, host.installUrl('a b')]).toEqual([
    false,
    'https://github.com/apps/svc-test/installations/new?state=a+b',
  ]);
  const enterprise = { ...github(good), SVC_GIT_HOST_URL: 'https://git.example.com' };
  expect((await openGitHost(readConfig(enterprise), { builtIn })).installUrl('x')).toBe(
    'https://git.example.com/github-apps/svc-test/installations/new?state=x',
  );
});

test('localUrl is the listening address', () => {
  for (const [host, address] of [
    ['127.0.0.1', 'http://127.0.0.1:4400'],
    ['0.0.0.0', 'http://127.0.0.1:4400'],
    ['::', 'http://[::1]:4400'],
    ['10.1.2.3', 'http://10.1.2.3:4400'],
    ['fd00::1', 'http://[fd00::1]:4400'],
  ] as const)
    expect(localUrl({ host, port: 4400 })).toBe(address);
});
