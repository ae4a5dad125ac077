import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { sha256 } from '../../core/values.ts';
import type { TestBrowser } from './browser-testing.ts';
import { newUser, signIn, testPassword, useProvider } from './provider-testing.ts';

const { database, provider } = useProvider();

const isResume = (url: URL) => url.pathname.startsWith('/oauth/auth/');

/** Signs in up to the last step, which another browser is then made to take. */
async function almostSignedIn(email: string) {
  const attacker = provider.browser();
  const page = await attacker.open('/login?return_to=/planted');
  const { location } = await attacker.submit(page, '/login', { email, password: testPassword }, isResume);
  return { attacker, resume: location ?? '' };
}

const sessionUser = async (browser: TestBrowser) => {
  const { rows } = await sql<{ user_id: string | null }>`
    select user_id from svc.oauth_models where kind = 'Session' and id_hash = ${sha256(browser.cookie('svc_session') ?? '')}`.execute(
    database.db,
  );
  return rows[0]?.user_id ?? null;
};

test('planted cookies of a sign-in sign no other browser in', async () => {
  const { email } = await newUser(database);
  const { attacker, resume } = await almostSignedIn(email);
  const victim = provider.browser();
  await victim.open('/login');
  const own = victim.cookies.filter(({ name }) => !name.startsWith('svc_interaction'));
  victim.cookies = [...own, ...attacker.cookies.filter(({ name }) => name.startsWith('svc_interaction'))];
  const answer = await victim.open(resume);
  expect(answer.status).toBe(400);
  expect(await sessionUser(victim)).toBeNull();
});

test('the browser that began a sign-in can finish it', async () => {
  const { email, id } = await newUser(database);
  const { attacker: browser, resume } = await almostSignedIn(email);
  expect((await browser.open(resume)).url).toBe(`${provider.baseUrl}/planted`);
  expect(await sessionUser(browser)).toBe(id);
});

test('a sign-in that comes back with a foreign state ends the session', async () => {
  const { email, id } = await newUser(database);
  const browser = provider.browser();
  await signIn(browser, email);
  expect(await sessionUser(browser)).toBe(id);
  const cookie = browser.cookie('svc_session') ?? '';
  const answer = await browser.open('/login/done?state=foreign&code=x');
  expect(answer.status).toBe(403);
  expect(answer.html).toContain('You are not signed in');
  const { rows } = await sql`select 1 from svc.oauth_models where id_hash = ${sha256(cookie)}`.execute(
    database.db,
  );
  expect(rows).toEqual([]);
});

test('two sign-ins in two tabs of one browser both work', async () => {
  const { email } = await newUser(database);
  const browser = provider.browser();
  const one = await browser.open('/login?return_to=/one');
  const two = await browser.open('/login?return_to=/two');
  const typed = { email, password: testPassword };
  expect((await browser.submit(two, '/login', typed)).url).toBe(`${provider.baseUrl}/two`);
  expect((await browser.submit(one, '/login', typed)).url).toBe(`${provider.baseUrl}/one`);
});

test('on https every cookie is for this host alone, except the two whose path names one sign-in', async () => {
  const { email } = await newUser(database);
  const secure = 'https://svc.example.test';
  const { startTestProvider } = await import('./provider-testing.ts');
  const https = await startTestProvider(database, { baseUrl: secure });
  const [browser, begun] = [https.browser(), https.browser()];
  await signIn(browser, email);
  await browser.open('/login');
  // The cookie of a sign-in is removed at its end.
  await begun.open('/login');
  const names = [...browser.cookies, ...begun.cookies].map(({ name }) => name.replace(/\.sig$/, ''));
  expect(names.length).toBeGreaterThan(2);
  // Planted ones sign nobody in: `__Host-svc_browser` binds a sign-in to the browser that began it.
  const ofOneSignIn = ['__Secure-svc_interaction', '__Secure-svc_interaction_resume'];
  expect(names.filter((name) => !name.startsWith('__Host-') && !ofOneSignIn.includes(name))).toEqual([]);
  for (const name of ['svc_browser', 'svc_session', 'svc_login']) expect(names).toContain(`__Host-${name}`);
  await https.stop();
});
