import { beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../scripts/free-port.ts';
import { TestBrowser } from '../server/src/identity/provider/browser-testing.ts';
import { admin, svcFor } from './support/commands.ts';
import { caller, newPasswordUser, newTenant, type PasswordUser, type Tenant } from './support/people.ts';
import { type RunningServer, temporaryFolder } from './support/server.ts';
import { answerLogin, startLogin } from './support/sign-in.ts';
import { until } from './support/until.ts';

let t: Tenant;
let server: RunningServer;
let user: PasswordUser;

beforeAll(async () => {
  t = await newTenant();
  server = t.server;
  user = await newPasswordUser(server, t.id);
});

interface Stored {
  profiles: Record<string, { access_token: string; refresh_token?: string; base_url: string }>;
}

const storedIn = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'credentials.json'), 'utf8')) as Stored;

/** `svc` with an empty configuration folder. */
function freshSvc() {
  const folder = join(temporaryFolder(), 'config');
  const env = { SVC_BASE_URL: server.baseUrl, SVC_CONFIG_DIR: folder };
  const svc = svcFor(server);
  return {
    folder,
    env,
    svc: (args: string[], more = {}, stdin?: string) =>
      svc(args, { env: { ...env, ...more }, ...(stdin !== undefined && { stdin }) }),
  };
}

const works = async (token: string) =>
  (await caller(server, { authorization: `Bearer ${token}` })('GET', '/api/v1/me')).status === 200;

describe('svc login in a browser', () => {
  test('signs in after an approval of the code, and exits 4 after a denial', async () => {
    const [granted, denied] = [freshSvc(), freshSvc()];
    // In parallel: each waits some seconds between two polls.
    const [first, second] = await Promise.all([
      startLogin(granted.env, ['--json', '--verbose']),
      startLogin(denied.env, ['--verbose']),
    ]);
    expect(new URL(first.address).origin).toBe(server.baseUrl);
    const browser = await answerLogin(first, user, 'Approve');
    await answerLogin(second, user, 'Deny', browser);

    const done = await first.ended;
    expect([done.code, JSON.parse(done.stdout).user.email]).toEqual([0, user.email]);
    const refused = await second.ended;
    expect([refused.code, refused.stdout]).toEqual([4, '']);
    expect(refused.stderr).toContain('access_denied');
    expect((await denied.svc(['whoami'])).code).toBe(3);

    const who = await granted.svc(['whoami', '--json']);
    expect(who.json<{ user: { id: string } }>().user.id).toBe(user.id);
    expect(who.json<{ tenant: { slug: string } }>().tenant.slug).toBe(t.slug);
    const { access_token, refresh_token } = storedIn(granted.folder).profiles.default!;
    for (const secret of [access_token, refresh_token!]) {
      expect(secret).toBeString();
      for (const text of [done.stdout, done.stderr, who.stdout, who.stderr])
        expect(text).not.toContain(secret);
    }
    expect(statSync(join(granted.folder, 'credentials.json')).mode & 0o077).toBe(0);
    // The code is used up and cannot be entered again.
    const spent = await browser.press(await browser.open(first.address), 'Continue', {
      user_code: first.code,
    });
    expect(spent.status).toBe(400);

    expect((await granted.svc(['logout', '--json'])).json()).toEqual({
      profile: 'default',
      logged_out: true,
      revoked: true,
    });
    expect(await works(access_token)).toBeFalse();
    expect((await granted.svc(['whoami'])).code).toBe(3);
    const again = await granted.svc(['logout', '--json']);
    expect([again.code, again.json<{ logged_out: boolean }>().logged_out]).toEqual([0, false]);
  });

  test('exits 130 at Ctrl-C while it waits, and stores nothing', async () => {
    const { env, svc } = freshSvc();
    const login = await startLogin(env);
    login.kill('SIGINT');
    const { code, stdout, stderr } = await login.ended;
    expect([code, stdout]).toEqual([130, '']);
    expect(stderr).not.toMatch(/\bat .*\.ts:\d+/);
    expect((await svc(['whoami'])).code).toBe(3);
  });

  test('asks for the right password without revealing whether the account exists', async () => {
    const browser = new TestBrowser(server.baseUrl);
    const page = await browser.open('/login');
    const wrong = await browser.press(page, 'Sign in', { email: user.email, password: 'wrong' });
    const unknown = await browser.press(page, 'Sign in', { email: 'nobody@example.test', password: 'wrong' });
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    const alert = (html: string) => /role="alert">([^<]*)</.exec(html)?.[1];
    expect(alert(wrong.html)).toBe(alert(unknown.html)!);
  });
});

describe('svc login without a browser', () => {
  test('--local signs in the first admin by the secret in the data folder, until logout', async () => {
    const { folder, svc } = freshSvc();
    const login = await svc(['login', '--local', '--json']);
    expect([login.code, login.stderr]).toEqual([0, '']);
    expect(login.json<{ tenant: { slug: string } }>().tenant.slug).toBe('demo');
    const { access_token } = storedIn(folder).profiles.default!;
    expect(await works(access_token)).toBeTrue();
    const sessions = (await svc(['sessions', 'list', '--json'])).json<{ items: { current: boolean }[] }>();
    expect(sessions.items.filter(({ current }) => current)).toHaveLength(1);
    expect((await svc(['logout'])).code).toBe(0);
    expect(await works(access_token)).toBeFalse();
  });

  test('--local needs the data folder of that very server', async () => {
    const { svc } = freshSvc();
    expect((await svc(['login', '--local'], { SVC_DATA_DIR: temporaryFolder() })).code).toBe(3);
    const other = await svc(['login', '--local'], { SVC_BASE_URL: `http://localhost:${freePort()}` });
    expect(other.code).toBe(2);
  });

  test('--token-stdin stores a token if the server accepts it', async () => {
    const { svc, folder } = freshSvc();
    expect((await svc(['login', '--token-stdin'], {}, 'nonsense\n')).code).toBe(3);
    expect((await svc(['login', '--token-stdin'], {}, '')).code).toBe(2);
    expect((await svc(['login', '--token-stdin'], {}, 'two words\n')).code).toBe(2);
    expect((await svc(['whoami'])).code).toBe(3);
    const login = await svc(['login', '--token-stdin'], {}, `${t.member.token}\n`);
    expect([login.code, login.stdout.includes(t.member.token)]).toEqual([0, false]);
    expect((await svc(['whoami', '--json'])).json<{ user: { id: string } }>().user.id).toBe(t.member.id);
    expect(storedIn(folder).profiles.default!.base_url).toBe(server.baseUrl);
  });

  test('SVC_TOKEN overrides a stored login, and a stored login is never sent to another server', async () => {
    const { svc } = freshSvc();
    await svc(['login', '--token-stdin'], {}, t.member.token);
    const who = await svc(['whoami', '--json'], { SVC_TOKEN: t.admin.token });
    expect(who.json<{ user: { id: string } }>().user.id).toBe(t.admin.id);
    let seen: string | null = null;
    const thief = Bun.serve({
      port: 0,
      fetch: (request) => {
        seen = request.headers.get('authorization');
        return Response.json({});
      },
    });
    const elsewhere = await svc(['whoami'], { SVC_BASE_URL: `http://127.0.0.1:${thief.port}` });
    await thief.stop(true);
    expect([elsewhere.code, seen]).toEqual([3, null]);
  });
});

describe('a server with unusual responses to a sign-in', () => {
  /** An OpenID provider with scripted answers; `device` is its answer to the start of a sign-in. */
  async function signInAt(device: (origin: string) => Record<string, unknown>, error: string) {
    const polls: string[] = [];
    const stub = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const { origin, pathname } = new URL(request.url);
        if (pathname.endsWith('/openid-configuration'))
          return Response.json({
            token_endpoint: `${origin}/oauth/token`,
            device_authorization_endpoint: `${origin}/oauth/device/auth`,
          });
        if (pathname === '/oauth/device/auth') return Response.json(device(origin));
        polls.push(await request.text());
        return Response.json({ error }, { status: 400 });
      },
    });
    const { svc } = freshSvc();
    const env = { SVC_BASE_URL: `http://127.0.0.1:${stub.port}` };
    const ran = await svc(['login', '--no-browser', '--verbose'], env);
    await stub.stop(true);
    return { ...ran, polls };
  }
  const deviceCode = 'device-code-that-nobody-may-see';
  const started = { device_code: deviceCode, user_code: 'BCDF-GHJK', expires_in: 600, interval: 0.05 };

  test('the device code is sent to the server and never printed, also with --verbose', async () => {
    const device = (origin: string) => ({ ...started, verification_uri: `${origin}/oauth/device` });
    const { code, stdout, stderr, polls } = await signInAt(device, 'access_denied');
    expect([code, polls.length, polls[0]!.includes(deviceCode)]).toEqual([4, 1, true]);
    expect(stderr).toContain('BCDF-GHJK');
    expect(stdout + stderr).not.toContain(deviceCode);
  });

  test('an expired code exits 10', async () => {
    const device = (origin: string) => ({ ...started, verification_uri: `${origin}/oauth/device` });
    expect((await signInAt(device, 'expired_token')).code).toBe(10);
  });

  test('a verification page on another host exits 13 before a code is shown', async () => {
    const device = () => ({ ...started, verification_uri: 'https://phishing.example/device' });
    const { code, stderr, polls } = await signInAt(device, 'authorization_pending');
    expect([code, polls.length]).toEqual([13, 0]);
    expect(stderr).not.toContain('BCDF-GHJK');
  });
});

describe('profiles and tenants', () => {
  test('each profile has its own login and server; the first one is the current one', async () => {
    const { svc } = freshSvc();
    const { access_token: boss } = await admin(server, ['tokens', 'issue', '--user', t.admin.id]);
    await svc(['login', '--token-stdin'], {}, t.member.token);
    await svc(['login', '--token-stdin', '--profile', 'boss'], {}, boss);
    const id = async (args: string[], env = {}) =>
      (await svc(['whoami', '--json', ...args], env)).json<{ user: { id: string } }>().user.id;
    expect(await id([])).toBe(t.member.id);
    expect(await id(['--profile', 'boss'])).toBe(t.admin.id);
    expect(await id([], { SVC_PROFILE: 'boss' })).toBe(t.admin.id);
    // The server's URL is stored with the login.
    expect(await id(['--profile', 'boss'], { SVC_BASE_URL: '' })).toBe(t.admin.id);
    expect((await svc(['logout', '--profile', 'boss'])).code).toBe(0);
    expect((await svc(['whoami', '--profile', 'boss'])).code).toBe(3);
    expect(await id([])).toBe(t.member.id);
    expect(await works(boss!)).toBeFalse();
  });

  test('tenants use sets the tenant of commands, unless --tenant or SVC_TENANT overrides it', async () => {
    const other = await newTenant();
    const path = `${other.base}/members/${t.member.id}`;
    expect((await other.admin.call('PUT', path, { role: 'tenant_member' })).status).toBe(200);
    const { svc } = freshSvc();
    const token = { SVC_TOKEN: t.member.token };
    expect((await svc(['tenants', 'get'], token)).code).toBe(2);
    expect((await svc(['tenants', 'use', 'no-such-tenant'], token)).code).toBe(5);
    expect((await svc(['tenants', 'use', other.slug], token)).code).toBe(0);
    const slug = async (args: string[], env = {}) =>
      (await svc(['tenants', 'get', '--json', ...args], { ...token, ...env })).json<{ slug: string }>().slug;
    expect(await slug([])).toBe(other.slug);
    expect(await slug(['--tenant', t.slug])).toBe(t.slug);
    expect(await slug([], { SVC_TENANT: t.id })).toBe(t.slug);
    expect(await slug(['--tenant', other.id], { SVC_TENANT: t.slug })).toBe(other.slug);
    const listed = (await svc(['tenants', 'list', '--json'], token)).json<{ items: { slug: string }[] }>();
    expect(listed.items.map((item) => item.slug).sort()).toEqual([t.slug, other.slug].sort());
  });

  test('parallel commands renew one login without losing it', async () => {
    const { svc, folder } = freshSvc();
    expect((await svc(['login', '--local'])).code).toBe(0);
    const file = join(folder, 'credentials.json');
    const stored = storedIn(folder);
    const before = stored.profiles.default!.access_token;
    await Bun.write(
      file,
      JSON.stringify({
        ...stored,
        profiles: { default: { ...stored.profiles.default, expires_at: '2020-01-01T00:00:00Z' } },
      }),
    );
    const ran = await Promise.all(Array.from({ length: 6 }, () => svc(['whoami', '--json'])));
    expect(ran.map(({ code, stderr }) => [code, stderr])).toEqual(ran.map(() => [0, '']));
    const after = storedIn(folder).profiles.default!;
    expect(after.access_token).not.toBe(before);
    await until('the new login works', () => works(after.access_token));
    expect((await svc(['logout'])).code).toBe(0);
    expect(await works(after.access_token)).toBeFalse();
  });
});
