import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, readConfig } from '../../config.ts';
import { openGitHost, ownAddress } from '../../git-host-place.ts';
import { Failure } from '../../plumbing/problem.ts';
import { codeOf } from '../../testing.ts';
import { isBelow } from './device-flow.ts';
import { githubWorld, hostAt } from './testing/github-world.ts';

setDefaultTimeout(30_000);
let world: Awaited<ReturnType<typeof githubWorld>>;
beforeAll(async () => {
  world = await githubWorld();
});
afterAll(() => world.stop());
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

/** One of each kind of question. */
const questions = () => {
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
    // Another each time: tokens are kept.
    credentials: () => host.asInstallation(Math.ceil(Math.random() * 1e9)).credentials(),
  };
};

test.each([
  ['the page of a proxy, as if all were well', page(200)],
  ['the page of a proxy, as if nothing were there', page(404)],
  ['the page of a proxy that wants a sign-in', page(403)],
  ['a fault', asJson({ message: 'Server Error' }, 502)],
  ['a fault without a word', () => new Response(null, { status: 503 })],
  ['nothing of it', asJson({}, 200)],
  ['a list instead', asJson([1, 2], 200)],
  ['half of it', () => new Response('{"id": 1, "lo', { headers: { 'content-type': 'application/json' } })],
  [
    'that it was asked too often',
    asJson({ message: 'API rate limit exceeded' }, 403, { 'x-ratelimit-remaining': '0' }),
  ],
  [
    'to come later',
    asJson({ message: 'You have exceeded a secondary rate limit' }, 429, { 'retry-after': '60' }),
  ],
])('a host that answers %s is unavailable, and nothing else', async (_, instead) => {
  world.server.instead = instead;
  for (const [name, ask] of Object.entries(questions())) {
    const before = world.server.asked.length;
    expect([name, await codeOf(ask())]).toEqual([name, 'git_host_unavailable']);
    // It is asked once; who is found by two names, at most twice.
    expect(world.server.asked.length - before).toBeLessThanOrEqual(2);
  }
});

test('an answer that does not end is cut off, whatever it says of its length', async () => {
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
  expect(await codeOf(world.host.asUser(world.member.token).account())).toBe('git_host_unavailable');
  expect(sent).toBeLessThan(150 * piece.byteLength);
});

test('a host that does not answer at all is unavailable', async () => {
  const nowhere = hostAt({ ...world.server, web: 'http://127.0.0.1:9', api: 'http://127.0.0.1:9/api/v3' });
  expect(await codeOf(nowhere.beginDeviceFlow())).toBe('git_host_unavailable');
  expect(await codeOf(nowhere.installation(1))).toBe('git_host_unavailable');
  expect((await nowhere.check()).ok).toBe(false);
});

test('what is said of a failure holds no token and nothing of what was answered', async () => {
  world.server.instead = page(500);
  for (const ask of Object.values(questions())) {
    const error = await ask().catch((it: unknown) => it);
    const text = `${Bun.inspect(error)} ${JSON.stringify(error)}`;
    expect(error).toBeInstanceOf(Failure);
    for (const secret of [world.member.token, 'x'.repeat(40), 'ghr_x', 'Sign in to the proxy'])
      expect(text).not.toContain(secret);
  }
});

test('a code that is to be typed at another address than that of the host is not handed on', async () => {
  const { host, server } = world;
  for (const uri of [
    'https://github.com.evil.example/login/device',
    'http://127.0.0.1:1/login/device',
    'javascript:x',
  ]) {
    server.codes.verificationUri = uri;
    expect([uri, await codeOf(host.beginDeviceFlow())]).toEqual([uri, 'git_host_unavailable']);
  }
  expect(isBelow('https://github.com/login/device', 'https://github.com')).toBe(true);
  expect(isBelow('https://a.example/git/login/device', 'https://a.example/git')).toBe(true);
  for (const [address, web] of [
    ['https://a.example/gitx/login', 'https://a.example/git'],
    ['https://a.example/git', 'https://a.example/git'],
    ['http://github.com/login/device', 'https://github.com'],
    ['https://u:p@github.com/login', 'https://github.com'],
    ['https://a.example/git/../x', 'https://a.example/git'],
  ] as const)
    expect([address, isBelow(address, web)]).toEqual([address, false]);
});

test('a wrong key or number of the app is told as such', async () => {
  world.server.instead = asJson({ message: 'A JSON web token could not be decoded' }, 401);
  expect(await world.host.check()).toEqual({ ok: false, detail: expect.stringContaining('key of the app') });
});

const github = (keyFile: string) => ({
  ...{ SVC_GIT_HOST: 'github', SVC_GIT_HOST_CLIENT_ID: 'Iv1.0123456789abcdef', SVC_GIT_HOST_APP_ID: '12' },
  ...{ SVC_GIT_HOST_APP_SLUG: 'svc-test', SVC_GIT_HOST_PRIVATE_KEY_FILE: keyFile },
  SVC_GIT_HOST_WEBHOOK_SECRET: 'a secret of the hooks',
});
const builtIn = async () => {
  throw new Error('It is not asked.');
};

test('the configuration names what is missing or wrong, and what has no effect', async () => {
  expect(readConfig({}).gitHost).toEqual({ kind: 'built-in' });
  const all = github('/keys/app.pem');
  expect(readConfig(all).gitHost).toMatchObject({
    ...{ webUrl: 'https://github.com', apiUrl: 'https://api.github.com', privateKeyFile: '/keys/app.pem' },
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

test('a key file that is none is told by its variable; with one, people are sent to the app of the host', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-key-'));
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

test('the server reaches itself by where it listens, not by how others know it', () => {
  for (const [host, address] of [
    ['127.0.0.1', 'http://127.0.0.1:4400'],
    ['0.0.0.0', 'http://127.0.0.1:4400'],
    ['::', 'http://[::1]:4400'],
    ['10.1.2.3', 'http://10.1.2.3:4400'],
    ['fd00::1', 'http://[fd00::1]:4400'],
  ] as const)
    expect(ownAddress({ host, port: 4400 })).toBe(address);
});
