import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import type { Ctx } from '../../core/context.ts';
import { sha256 } from '../../core/values.ts';
import type { MailMessage } from '../../drivers/mail/mail.ts';
import { codeOf, silentLog, testCaller, testDeps, testMutation, testRequestInfo } from '../../testing.ts';
import {
  changePassword,
  mailResetLink,
  reauthenticate,
  reauthenticationsMax,
  resetMailTopic,
} from '../account/password.ts';
import { listSignIns } from '../account/sign-ins.ts';
import { findSignIn } from '../sessions/sessions.ts';
import {
  approveDevice,
  newUser,
  requestDeviceCode,
  signedInBrowser,
  signIn,
  signInDevice,
  startTestProvider,
  testPassword,
  useProvider,
} from './provider-testing.ts';

const { database, provider } = useProvider();
const newPassword = 'tulip anvil gravel moon';

const ctxOf = (user: { id: string; email: string }, credentialId = 'test'): Ctx => ({
  ...testRequestInfo,
  db: database.db,
  now: new Date(),
  caller: testCaller({ userId: user.id, email: user.email, credentialId }),
});

const eventsOf = async (user: { id: string; email: string }) =>
  (await listSignIns(ctxOf(user), { page: 1, per_page: 50 })).items.map(({ event }) => event);

test('a person sees sign-ins, failures and approved devices with address and device', async () => {
  const user = await newUser(database);
  const browser = provider.browser('203.0.113.7');
  browser.headers['user-agent'] = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
  await browser.submit(await browser.open('/login'), '/login', { email: user.email, password: 'wrong' });
  await signIn(browser, user.email);
  await approveDevice(browser, (await requestDeviceCode(provider)).userCode);
  const { items, total } = await listSignIns(ctxOf(user), { page: 1, per_page: 2 });
  expect(total).toBe(3);
  expect(items).toMatchObject([
    { event: 'device_approved', address: '203.0.113.7', device: 'Firefox on Linux' },
    { event: 'signed_in', method: 'password', address: '203.0.113.7', device: 'Firefox on Linux' },
  ]);
  expect(await eventsOf(user)).toEqual(['device_approved', 'signed_in', 'sign_in_failed']);
  expect(await eventsOf(await newUser(database))).toEqual([]);
});

test('changing the password ends the other sessions and not the own one', async () => {
  const user = await newUser(database);
  const browser = await signedInBrowser(provider, user.email);
  const { accessToken } = await signInDevice(provider, browser);
  const other = await signedInBrowser(provider, user.email);
  const signInWith = (kind: 'login' | 'session', secret = '') =>
    findSignIn(database.db, { kind, hash: sha256(secret) });
  const own = await signInWith('login', accessToken);
  const caller = testCaller({ userId: user.id, email: user.email, credentialId: own?.credentialId ?? '' });
  await testMutation(database.db, caller, (ctx) => changePassword(ctx, { password: newPassword }));
  expect(await signInWith('login', accessToken)).not.toBeNull();
  expect(await signInWith('session', other.cookie('svc_session'))).toBeNull();
  expect((await eventsOf(user))[0]).toBe('password_changed');
});

test('the current password is required, and guessing it makes the credential wait', async () => {
  const user = await newUser(database);
  const prove = (password: string, credential = 'test') =>
    codeOf(
      reauthenticate(ctxOf(user, credential), {
        ...testDeps,
        db: database.db,
        password,
        localPasswords: 'on',
      }),
    );
  expect(await prove(testPassword)).toBe('done');
  for (let tried = 0; tried < reauthenticationsMax; tried++)
    expect(await prove('wrong', 'stolen')).toBe('wrong_password');
  await sql`update svc.login_attempts set blocked_until = now() + interval '10 minutes'
    where blocked_until is not null`.execute(database.db);
  expect(await prove(testPassword, 'stolen')).toBe('rate_limited');
  expect(await eventsOf(user)).toEqual(Array(reauthenticationsMax).fill('sign_in_failed'));
  expect(await prove(testPassword)).toBe('done');
  const deps = { ...testDeps, db: database.db, password: testPassword };
  const off = reauthenticate(ctxOf(user), { ...deps, localPasswords: 'off' });
  expect(await codeOf(off)).toBe('no_password');
  const federated = await newUser(database, 'none');
  expect(await codeOf(reauthenticate(ctxOf(federated), { ...deps, localPasswords: 'on' }))).toBe(
    'no_password',
  );
});

/** Sends the e-mails that are queued for the address. */
async function deliver(email: string): Promise<MailMessage[]> {
  const sent: MailMessage[] = [];
  const mail = { send: async (message: MailMessage) => void sent.push(message), check: async () => {} };
  const deps = { db: database.db, log: silentLog, now: () => new Date(), baseUrl: provider.baseUrl };
  const { rows } = await sql<{ payload: Record<string, unknown> }>`
    delete from svc.outbox where topic = ${resetMailTopic} and payload ->> 'email' = ${email} returning payload`.execute(
    database.db,
  );
  for (const { payload } of rows) await mailResetLink({ ...deps, mail })(payload);
  return sent;
}

async function requestLink(email: string) {
  const browser = provider.browser();
  const page = await browser.open('/login/forgot');
  const answer = await browser.submit(page, '/login/forgot', { email });
  const [message] = await deliver(email);
  return { answer, link: /http\S+\/login\/reset\?token=\S+/.exec(message?.text ?? '')?.[0] ?? '' };
}

const choose = async (link: string, password: string, repeated = password) => {
  const browser = provider.browser();
  const page = await browser.open(link);
  return browser.submit(page, '/login/reset', { password, repeated });
};

test('a forgotten password is reset by a link that works once and ends every session', async () => {
  const user = await newUser(database);
  const browser = await signedInBrowser(provider, user.email);
  const { link } = await requestLink(user.email);
  expect((await choose(link, 'password1234')).html).toContain('too easy to guess');
  expect((await choose(link, newPassword, 'other')).html).toContain('differ');
  expect((await choose(link, newPassword)).html).toContain('Password set');
  const hash = sha256(browser.cookie('svc_session') ?? '');
  expect(await findSignIn(database.db, { kind: 'session', hash })).toBeNull();
  const again = provider.browser();
  const signedIn = await again.submit(await again.open('/login'), '/login', {
    email: user.email,
    password: newPassword,
  });
  expect(signedIn.status).toBe(200);
  expect((await provider.browser().open(link)).html).toContain('no longer valid');
});

test('the page answers alike whether the account exists, and only an account with a password gets a link', async () => {
  const user = await newUser(database);
  const federated = await newUser(database, 'none');
  const [one, two, three] = [
    await requestLink(user.email),
    await requestLink('nobody@example.test'),
    await requestLink(federated.email),
  ];
  expect(new Set([one.answer.html, two.answer.html, three.answer.html]).size).toBe(1);
  expect([one.link !== '', two.link, three.link]).toEqual([true, '', '']);
});

test('a link expires, and a newer one replaces it', async () => {
  const user = await newUser(database);
  const { link: first } = await requestLink(user.email);
  const { link: second } = await requestLink(user.email);
  expect((await provider.browser().open(first)).status).toBe(400);
  expect((await provider.browser().open(second)).status).toBe(200);
  await sql`update svc.account_tokens set expires_at = now() where user_id = ${user.id}`.execute(database.db);
  expect((await provider.browser().open(second)).status).toBe(400);
});

test('an account gets a few e-mails only, and the page does not reveal it', async () => {
  const user = await newUser(database);
  const links: string[] = [];
  for (let asked = 0; asked < 5; asked++) links.push((await requestLink(user.email)).link);
  expect(links.filter((link) => link !== '')).toHaveLength(3);
});

test('without local passwords the page has no password form, and a posted password is refused', async () => {
  const user = await newUser(database);
  const off = await startTestProvider(database, { localPasswords: 'off', canResetPassword: false });
  const browser = off.browser();
  const page = await browser.open('/login');
  expect(page.html).not.toContain('type="password"');
  const body = new URLSearchParams({ email: user.email, password: testPassword });
  const cookie = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const posted = await fetch(`${page.url}/login`, {
    method: 'POST',
    body,
    headers: { cookie },
    redirect: 'manual',
  });
  expect(posted.status).toBe(409);
  await off.stop();
});
