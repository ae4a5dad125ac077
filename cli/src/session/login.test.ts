import { beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { patientMs } from '../../../scripts/patience.ts';
import type { DeviceAnswer } from '../../testing/fake-oauth.ts';
import { startFakeServer, useFakeServer } from '../../testing/fake-server.ts';
import { newFolder, type RunOptions, runSvc, writeLogin } from '../../testing/run-svc.ts';

const server = useFakeServer();

let dir: string;
let env: Record<string, string>;
beforeEach(() => {
  dir = newFolder();
  env = { SVC_CONFIG_DIR: dir, SVC_BASE_URL: server.url, SVC_DATA_DIR: dir };
  Object.assign(server.oauth, { serial: 0, tokens: new Set(), refreshTokens: new Set(), devices: new Map() });
});

const svc = (line: string[], options: RunOptions = {}) => runSvc(line, { env, ...options });
const stored = () => JSON.parse(readFileSync(join(dir, 'credentials.json'), 'utf8')).profiles;
const config = () => JSON.parse(readFileSync(join(dir, 'config.json'), 'utf8'));
const device = (...answers: DeviceAnswer[]) => server.oauth.devices.set('device-1', answers);

describe('svc login', () => {
  test('shows URL and code, waits for the confirmation, and stores the login', async () => {
    device('authorization_pending', 'authorization_pending', 'tokens');
    const ran = await svc(['login', '--json']);
    expect([ran.exit, ran.err]).toEqual([
      0,
      `Open ${server.url}/oauth/device?user_code=ABCD-EFGH and confirm the code ABCD-EFGH; it expires in 10 minutes.\n`,
    ]);
    expect(JSON.parse(ran.out)).toMatchObject({
      base_url: server.url,
      profile: 'default',
      tenant: { slug: 'text' },
    });
    expect(stored().default).toMatchObject({
      access_token: 'access-1',
      refresh_token: 'refresh-1',
      base_url: server.url,
    });
    expect(config()).toMatchObject({
      current_profile: 'default',
      profiles: { default: { base_url: server.url } },
    });
    expect((await runSvc(['whoami'], { env: { SVC_CONFIG_DIR: dir } })).exit).toBe(0);
  });

  test('never prints the device code or a token, even with --verbose', async () => {
    const ran = await svc(['login', '--verbose']);
    for (const secret of ['device-1', 'access-1', 'refresh-1'])
      expect(ran.out + ran.err).not.toContain(secret);
  });

  test.each([
    ['access_denied', 4],
    ['expired_token', 10],
  ] as const)('that ends with %s exits %p and keeps nothing', async (answer, exit) => {
    device('authorization_pending', answer);
    const ran = await svc(['login', '--profile', 'p']);
    expect([ran.exit, ran.err]).toEqual([
      exit,
      expect.stringContaining('Next: Run svc login --profile p again'),
    ]);
    expect(existsSync(join(dir, 'credentials.json'))).toBe(false);
  });

  test('that is not confirmed in time exits with 10', async () => {
    device('authorization_pending');
    expect(await svc(['login', '--timeout', `${patientMs(80)}ms`])).toMatchObject({ exit: 10, out: '' });
  });

  test('exits with 130 at Ctrl-C', async () => {
    device('authorization_pending');
    let stop = () => {};
    server.intercept = (_, { path }) => {
      if (path === '/oauth/token') stop();
      return undefined;
    };
    const interrupt = (fire: () => void) => {
      stop = fire;
    };
    const ran = await svc(['login'], { interrupt });
    expect([ran.exit, ran.err]).toEqual([130, expect.stringContaining('Next: Run svc login again')]);
  });

  test('continues after a short outage of the server while it waits', async () => {
    let polls = 0;
    server.intercept = (_, { path }) => {
      if (path !== '/oauth/token') return undefined;
      polls += 1;
      return polls === 1 ? new Response('<html>502</html>', { status: 502 }) : undefined;
    };
    expect((await svc(['login'])).exit).toBe(0);
  });

  test('does not show URLs of another server', async () => {
    server.intercept = (_, { path }) =>
      path === '/oauth/device/auth'
        ? Response.json({
            device_code: 'd',
            user_code: 'U',
            verification_uri: 'https://evil.example/',
            interval: 0.01,
          })
        : undefined;
    expect(await svc(['login'])).toMatchObject({ exit: 13, out: '' });
  });

  test('to another kind of server reports that', async () => {
    server.intercept = () => new Response('<html>Welcome</html>');
    expect((await svc(['login'])).exit).toBe(12);
  });

  test('into another profile leaves the first one current', async () => {
    await svc(['login']);
    await svc(['login', '--profile', 'second']);
    expect(Object.keys(stored())).toEqual(['default', 'second']);
    expect(config().current_profile).toBe('default');
  });

  test('slows down on request', async () => {
    device('slow_down', 'tokens');
    const ran = await svc(['login', '--timeout', `${patientMs(200)}ms`]);
    expect([ran.exit, server.seen.filter(({ path }) => path === '/oauth/token').length]).toEqual([10, 1]);
  });
});

describe('svc login --local', () => {
  const secret = (text: string) => writeFileSync(join(dir, 'local-login.json'), text);

  test('authenticates with the secret in the data folder', async () => {
    secret(JSON.stringify({ base_url: server.url, secret: 'the-secret' }));
    const { SVC_BASE_URL: _, ...local } = env;
    expect((await runSvc(['login', '--local'], { env: local })).exit).toBe(0);
    expect(config().profiles.default.base_url).toBe(server.url);
  });

  test('treats localhost and 127.0.0.1 as the same server, and stores the given name', async () => {
    secret(JSON.stringify({ base_url: server.url, secret: 'the-secret' }));
    const named = { ...env, SVC_BASE_URL: server.url.replace('localhost', '127.0.0.1') };
    expect((await runSvc(['login', '--local'], { env: named })).exit).toBe(0);
    expect(stored().default.base_url).toContain('127.0.0.1');
  });

  test.each([
    ['a wrong secret', JSON.stringify({ base_url: server.url, secret: 'wrong' }), 4],
    ['another server', JSON.stringify({ base_url: 'http://localhost:1', secret: 'the-secret' }), 2],
    ['a broken file', '{', 3],
    ['an empty object', '{}', 1],
  ])('with %s fails without a login', async (_, text, exit) => {
    secret(text);
    expect((await svc(['login', '--local'])).exit).toBe(exit);
    expect(existsSync(join(dir, 'credentials.json'))).toBe(false);
  });

  test('without a server on this machine explains how to start one', async () => {
    expect(await svc(['login', '--local'])).toMatchObject({
      exit: 3,
      err: expect.stringContaining('SVC_DATA_DIR'),
    });
  });
});

describe('svc login --token-stdin', () => {
  test('stores a valid token with its expiry', async () => {
    server.oauth.tokens.add('made-elsewhere');
    expect((await svc(['login', '--token-stdin'], { input: 'made-elsewhere\n' })).exit).toBe(0);
    expect(stored().default).toEqual({
      base_url: server.url,
      access_token: 'made-elsewhere',
      expires_at: '2031-05-01T12:00:00.000Z',
    });
  });

  test.each([
    ['', 2],
    ['two words', 2],
    ['unknown', 3],
  ])('rejects %j with exit %p', async (input, exit) => {
    expect((await svc(['login', '--token-stdin'], { input })).exit).toBe(exit);
    expect(existsSync(join(dir, 'credentials.json'))).toBe(false);
  });
});

describe('svc logout', () => {
  test('ends the login on the server and here, for this profile only', async () => {
    await svc(['login']);
    await svc(['login', '--profile', 'second']);
    expect(JSON.parse((await svc(['logout', '--json'])).out)).toEqual({
      profile: 'default',
      logged_out: true,
      revoked: true,
    });
    expect(Object.keys(stored())).toEqual(['second']);
    expect(server.oauth.refreshTokens).toEqual(new Set(['refresh-2']));
  });

  test('works without the server, and reports that', async () => {
    await writeLogin(dir, 'http://127.0.0.1:1');
    const ran = await svc(['logout'], { env: { SVC_CONFIG_DIR: dir } });
    expect([ran.exit, stored()]).toEqual([0, {}]);
    expect(ran.err).toContain('did not confirm');
  });

  test('twice is no error', async () => {
    expect(await svc(['logout'])).toMatchObject({ exit: 0, err: 'Profile default was not logged in.\n' });
  });
});

describe('the tenant', () => {
  const two = [
    { id: 'id-a', slug: 'a', name: 'A', role: 'tenant_admin' },
    { id: 'id-b', slug: 'b', name: 'B', role: 'tenant_member' },
  ];
  const belongsTo = (tenants: unknown[]) => {
    server.intercept = (_, { path }) => {
      if (path !== '/api/v1/me') return undefined;
      const user = { id: 'u', email: 'ada@example.com', name: '', status: 'active' };
      return Response.json({
        ...user,
        credential: { kind: 'login', expires_at: '2031-01-01T00:00:00Z' },
        tenants,
      });
    };
  };
  /** Without the requests for names in a table. */
  const asked = () => server.seen.map(({ path }) => path).filter((path) => !/\/(terms|tables)$/.test(path));

  beforeEach(async () => {
    await writeLogin(dir, server.url);
    server.oauth.tokens.add('access-1');
  });

  test('is that of the flag, then of the environment, then of the profile', async () => {
    await svc(['grants', 'mine', '--tenant', 'flag'], { env: { ...env, SVC_TENANT: 'env' } });
    await svc(['grants', 'mine'], { env: { ...env, SVC_TENANT: 'env' } });
    expect((await svc(['tenants', 'use', 'demo'])).exit).toBe(0);
    await svc(['grants', 'mine']);
    expect(asked().map((path) => path.split('/')[4])).toEqual([
      'flag',
      'env',
      'demo',
      config().profiles.default.tenant.id,
    ]);
  });

  test('is the only one of the user, and is stored', async () => {
    belongsTo(two.slice(0, 1));
    await svc(['grants', 'mine']);
    await svc(['grants', 'mine']);
    expect(asked()).toEqual([
      '/api/v1/me',
      '/api/v1/tenants/id-a/me/grants',
      '/api/v1/tenants/id-a/me/grants',
    ]);
  });

  test('must be chosen if there are several', async () => {
    belongsTo(two);
    expect(await svc(['grants', 'mine'])).toMatchObject({
      exit: 2,
      err: expect.stringContaining('svc tenants use'),
    });
    expect((await svc(['whoami', '--tenant', 'b', '--json'])).out).toContain('"role": "tenant_member"');
    expect(JSON.parse((await svc(['whoami', '--json'])).out)).toMatchObject({ tenant: null, role: '' });
  });

  test('of another server is not used', async () => {
    await svc(['tenants', 'use', 'demo']);
    const other = startFakeServer();
    other.oauth.tokens.add('t');
    await runSvc(['grants', 'mine'], {
      env: { SVC_CONFIG_DIR: dir, SVC_BASE_URL: other.url, SVC_TOKEN: 't' },
    });
    expect(other.seen[0]?.path).toBe('/api/v1/me');
    await other.stop();
  });
});

test.each([
  ['that was never made', {}],
  ['that has ended', { expires_at: '2020-01-01T00:00:00Z' }],
])('a login %s names the profile to log in to', async (_, login) => {
  await writeLogin(dir, server.url, login);
  const { profiles } = JSON.parse(readFileSync(join(dir, 'credentials.json'), 'utf8'));
  if ('expires_at' in login)
    writeFileSync(join(dir, 'credentials.json'), JSON.stringify({ profiles: { exp: profiles.default } }));
  const ran = await svc(['whoami', '--profile', 'exp']);
  expect([ran.exit, ran.err]).toEqual([3, expect.stringContaining('Next: Run svc login --profile exp.')]);
});

test('a token for rows does not replace a login', async () => {
  const ran = await svc(['whoami', '--json'], { env: { ...env, SVC_API_KEY: 'svcpat_x' } });
  expect([ran.exit, JSON.parse(ran.err).code, server.seen]).toEqual([3, 'not_logged_in', []]);
});

test('a broken file of logins is reported, and other commands still work', async () => {
  writeFileSync(join(dir, 'credentials.json'), '{');
  expect(await svc(['whoami'])).toMatchObject({ exit: 1, err: expect.stringContaining('credentials.json') });
  server.oauth.tokens.add('t');
  expect((await svc(['whoami'], { env: { ...env, SVC_TOKEN: 't' } })).exit).toBe(0);
});
