import { beforeEach, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { problem } from '../../testing/answers.ts';
import { useFakeServer } from '../../testing/fake-server.ts';
import { newFolder, runSvc, writeLogin } from '../../testing/run-svc.ts';

const server = useFakeServer();
beforeEach(() => {
  Object.assign(server.oauth, {
    serial: 1,
    tokens: new Set(['access-1']),
    refreshTokens: new Set(['refresh-1']),
  });
});

async function loggedIn(
  login: Record<string, unknown> = {},
): Promise<{ dir: string; env: Record<string, string> }> {
  const dir = newFolder();
  await writeLogin(dir, server.url, login);
  return { dir, env: { SVC_CONFIG_DIR: dir } };
}

const stored = (dir: string) =>
  JSON.parse(readFileSync(join(dir, 'credentials.json'), 'utf8')).profiles.default;
const refreshes = () => server.seen.filter(({ body }) => body.includes('grant_type=refresh_token')).length;

describe('a login', () => {
  test('that is valid is used as it is', async () => {
    const { env } = await loggedIn();
    expect((await runSvc(['whoami'], { env })).exit).toBe(0);
    expect(server.seen.map(({ path }) => path)).toEqual(['/api/v1/me']);
  });

  test.each([
    ['has ended', '2020-01-01T00:00:00Z'],
    ['ends within 30 s', new Date(Date.now() + 20_000).toISOString()],
  ])('that %s is renewed before the request, and stored', async (_, expiresAt) => {
    const { dir, env } = await loggedIn({ expires_at: expiresAt });
    const ran = await runSvc(['whoami'], { env });
    expect([ran.exit, refreshes()]).toEqual([0, 1]);
    expect(stored(dir)).toMatchObject({ access_token: 'access-2', refresh_token: 'refresh-2' });
  });

  test('whose expiry cannot be parsed is tried as it is', async () => {
    const { env } = await loggedIn({ expires_at: 'soon' });
    expect([(await runSvc(['whoami'], { env })).exit, refreshes()]).toEqual([0, 0]);
  });

  test('that the server rejects is renewed once', async () => {
    const { env } = await loggedIn({ access_token: 'revoked' });
    expect((await runSvc(['whoami'], { env })).exit).toBe(0);
    expect(server.seen.map(({ path }) => path)).toEqual([
      '/api/v1/me',
      '/oauth/.well-known/openid-configuration',
      '/oauth/token',
      '/api/v1/me',
    ]);
  });

  test('that is rejected after the renewal exits with 3', async () => {
    const { env } = await loggedIn();
    server.intercept = (_, { path }) => (path === '/api/v1/me' ? problem('unauthenticated') : undefined);
    expect((await runSvc(['whoami'], { env })).exit).toBe(3);
    expect(refreshes()).toBe(1);
  });

  test('that cannot be renewed exits with 3 and a message', async () => {
    const over = { expires_at: '2020-01-01T00:00:00Z', refresh_token: 'used up' };
    const { env } = await loggedIn(over);
    const ran = await runSvc(['whoami'], { env });
    expect(ran).toMatchObject({ exit: 3, err: expect.stringContaining('svc login') });
  });

  test('is never sent to another server', async () => {
    const { env } = await loggedIn({ base_url: 'https://other.example' });
    expect(await runSvc(['whoami'], { env })).toMatchObject({ exit: 3 });
    expect(server.seen).toEqual([]);
  });

  test('is not renewed at a server that points elsewhere', async () => {
    const { env } = await loggedIn({ expires_at: '2020-01-01T00:00:00Z' });
    server.intercept = (_, { path }) =>
      path.includes('well-known')
        ? Response.json({ token_endpoint: 'https://evil.example/token' })
        : undefined;
    const ran = await runSvc(['whoami'], { env });
    expect([ran.exit, ran.err.includes('evil.example'), refreshes()]).toEqual([13, true, 0]);
  });

  test('of SVC_TOKEN overrides a stored one and is not renewed', async () => {
    const { env } = await loggedIn();
    expect((await runSvc(['whoami'], { env: { ...env, SVC_TOKEN: 'bad' } })).exit).toBe(3);
    expect([server.seen.length, server.seen[0]?.headers.get('authorization')]).toEqual([1, 'Bearer bad']);
  });
});

describe('parallel commands', () => {
  test('in one process renew a login once', async () => {
    const { env } = await loggedIn({ expires_at: '2020-01-01T00:00:00Z' });
    const all = await Promise.all(Array.from({ length: 8 }, () => runSvc(['whoami'], { env })));
    expect(all.map(({ exit }) => exit)).toEqual(Array(8).fill(0));
    expect(refreshes()).toBe(1);
  });

  test('in several processes renew a login once, and all keep it', async () => {
    const { dir, env } = await loggedIn({ expires_at: '2020-01-01T00:00:00Z' });
    const main = resolve(import.meta.dir, '../main.ts');
    const children = Array.from({ length: 6 }, () =>
      Bun.spawn([process.execPath, main, 'whoami'], { env: { ...process.env, ...env }, stdout: 'ignore' }),
    );
    expect(await Promise.all(children.map(({ exited }) => exited))).toEqual(Array(6).fill(0));
    expect([refreshes(), stored(dir).access_token]).toEqual([1, 'access-2']);
  });
});

test('a login is not renewed if the new one cannot be stored', async () => {
  const { dir, env } = await loggedIn({ expires_at: '2020-01-01T00:00:00Z' });
  // A lock of another process replaces a read-only folder: root may write everywhere.
  const { writeFileSync } = await import('node:fs');
  writeFileSync(join(dir, 'svc.lock'), '1 elsewhere x\n');
  const ran = await runSvc(['whoami', '--timeout', '200ms'], { env });
  expect([ran.exit, refreshes()]).toEqual([12, 0]);
});
