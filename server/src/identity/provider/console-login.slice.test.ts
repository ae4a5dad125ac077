import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { sha256 } from '../../core/values.ts';
import { createConsoleLogin, localPath } from './console-login.ts';
import { newUser, signIn, useProvider } from './provider-testing.ts';

const { database, provider } = useProvider();

test('signing in redirects to the requested page, at once when already signed in', async () => {
  const user = await newUser(database);
  const browser = provider.browser();
  expect((await signIn(browser, user.email, '/apps?tab=1#top')).url).toBe(
    `${provider.baseUrl}/apps?tab=1#top`,
  );
  expect((await browser.open('/login?return_to=/grants')).url).toBe(`${provider.baseUrl}/grants`);
  expect((await browser.open('/login?return_to=https://evil.example.test/')).url).toBe(
    `${provider.baseUrl}/`,
  );
});

test('a failed sign-in shows an error page instead of a redirect loop', async () => {
  const answer = await provider.browser().open('/login/done?error=access_denied&state=x');
  expect(answer.status).toBe(403);
  expect(answer.html).toContain('You are not signed in');
});

test('signing out ends the session and is refused from other sites', async () => {
  const user = await newUser(database);
  const browser = provider.browser();
  await signIn(browser, user.email);
  const cookie = browser.cookie('svc_session') ?? '';
  const post = (headers: Record<string, string>) =>
    fetch(`${provider.baseUrl}/logout`, {
      method: 'POST',
      headers: {
        cookie: browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
        ...headers,
      },
    });
  expect((await post({ origin: 'https://evil.example.test' })).status).toBe(403);
  expect((await post({ 'sec-fetch-site': 'same-site' })).status).toBe(403);
  expect((await fetch(`${provider.baseUrl}/logout`)).status).toBe(405);
  expect(await sessions(cookie)).toBe(1);
  const done = await post({ origin: provider.baseUrl, 'sec-fetch-site': 'same-origin' });
  expect(await done.text()).toBe('home of /');
  expect(await sessions(cookie)).toBe(0);
});

test('a thousand hostile return addresses all stay on this server', () => {
  const ours = 'https://svc.example.test';
  const prefixes = [
    '//',
    '/\\',
    '\\\\',
    'https://',
    'http:',
    '///',
    '/\t/',
    '/\n/',
    ' //',
    '/%09/',
    'javascript:',
    'data:',
    '/./\\/',
    '/..//',
    '@',
  ];
  const hosts = [
    'evil.test',
    'evil.test/x',
    '@evil.test',
    'svc.example.test@evil.test',
    '%65vil.test',
    'evil。test',
    '[::1]',
    'evil.test:443',
  ];
  const suffixes = ['', '/', '#', '?', '/%2e%2e', '\\', '\0', '//', ';', '%0d%0aset-cookie:x'];
  let tried = 0;
  for (const prefix of prefixes) {
    for (const host of hosts) {
      for (const suffix of suffixes) {
        const path = localPath(prefix + host + suffix, ours);
        tried++;
        expect(path).toMatch(/^\/(?![/\\])/);
        expect(new URL(path, ours).origin).toBe(ours);
        expect(path).not.toMatch(/[\r\n\t\0]/);
      }
    }
  }
  expect(tried).toBeGreaterThan(1_000);
  expect(localPath('/a/b?c=d#e', ours)).toBe('/a/b?c=d#e');
  expect(localPath(null, ours)).toBe('/');
});

test('under another loopback name, the sign-in redirects to the configured one', async () => {
  const handle = createConsoleLogin({ baseUrl: 'http://localhost:4400', db: database.db });
  const at = async (address: string) =>
    (await handle(new Request(address), new URL(address), { requestId: 'x' })).headers.get('location');
  expect(await at('http://127.0.0.1:4400/login?return_to=/x')).toBe(
    'http://localhost:4400/login?return_to=/x',
  );
  expect(await at('http://localhost:4400/login')).toStartWith('http://localhost:4400/oauth/auth?');
  // Behind a proxy the host name is arbitrary; there must be no redirect loop.
  expect(await at('http://internal:4400/login')).toStartWith('http://localhost:4400/oauth/auth?');
});

async function sessions(cookie: string): Promise<number> {
  const { rows } = await sql`select 1 from svc.oauth_models where id_hash = ${sha256(cookie)}`.execute(
    database.db,
  );
  return rows.length;
}
