import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { updateTenant } from '../../people/tenants/tenants.ts';
import { codeOf, newTenant, testCaller, testMutation, testRequestInfo } from '../../testing.ts';
import { listSignIns } from '../account/sign-ins.ts';
import { addTotp, listFactors, removeFactor, resetFactors, startTotp } from '../factors/factors.ts';
import { totpCode } from '../factors/totp.ts';

import type { TestBrowser, Visit } from './browser-testing.ts';
import { newUser, signIn, useProvider } from './provider-testing.ts';

const { database, provider } = useProvider();
const step = () => Math.floor(Date.now() / 30_000);
type User = Awaited<ReturnType<typeof newUser>>;

const asUser = <T>(user: User, work: (ctx: Parameters<typeof addTotp>[0]) => Promise<T>) =>
  testMutation(database.db, testCaller({ userId: user.id, email: user.email }), work).then(
    ({ value }) => value,
  );

/** A person with an authenticator app, whose code of the previous half-minute is used up. */
async function newUserWithApp() {
  const user = await newUser(database);
  const { secret } = await startTotp({ db: database.db, baseUrl: provider.baseUrl }, user);
  const input = { userId: user.id, code: totpCode(secret, step() - 1), name: 'Phone' };
  const { recoveryCodes } = await asUser(user, (ctx) => addTotp(ctx, input));
  return { user, secret, recoveryCodes: recoveryCodes ?? [] };
}

const enter = (browser: TestBrowser, page: Visit, code: string) => browser.submit(page, '/factor', { code });
const isHome = (visit: Visit) => visit.url === `${provider.baseUrl}/`;

test('the right password alone does not sign in, a code of the app does, once', async () => {
  const { user, secret } = await newUserWithApp();
  const browser = provider.browser();
  const page = await signIn(browser, user.email);
  expect(page.html).toContain('Confirm that it is you');
  expect(browser.cookie('svc_session')).toBeUndefined();
  const wrong = await enter(browser, page, '000000');
  expect([wrong.status, wrong.html]).toEqual([401, expect.stringContaining('The code is wrong')]);
  const code = totpCode(secret, step());
  expect(isHome(await enter(browser, wrong, code))).toBe(true);
  const again = provider.browser();
  expect((await enter(again, await signIn(again, user.email), code)).status).toBe(401);
  const ctx = {
    ...testRequestInfo,
    db: database.db,
    now: new Date(),
    caller: testCaller({ userId: user.id }),
  };
  const { items } = await listSignIns(ctx, { page: 1, per_page: 10 });
  expect(items.map(({ event, method }) => [event, method])).toEqual([
    ['sign_in_failed', 'password_and_totp'],
    ['signed_in', 'password_and_totp'],
    ['sign_in_failed', 'password_and_totp'],
    ['factor_added', 'totp'],
  ]);
});

test('a recovery code signs in once, in any spelling', async () => {
  const { user, recoveryCodes } = await newUserWithApp();
  expect(recoveryCodes).toHaveLength(10);
  const [code = ''] = recoveryCodes;
  const attempt = async (typed: string) => {
    const browser = provider.browser();
    return isHome(await enter(browser, await signIn(browser, user.email), typed));
  };
  expect(await attempt(code.toUpperCase().replaceAll('-', ' '))).toBe(true);
  expect(await attempt(code)).toBe(false);
  const { rows } = await sql`select 1 from svc.recovery_codes where user_id = ${user.id}`.execute(
    database.db,
  );
  expect(rows).toHaveLength(9);
});

test('of concurrent sign-ins with one code exactly one succeeds', async () => {
  const { user, recoveryCodes } = await newUserWithApp();
  const ready = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const browser = provider.browser();
      return { browser, page: await signIn(browser, user.email) };
    }),
  );
  const results = await Promise.all(
    ready.map(({ browser, page }) => enter(browser, page, recoveryCodes[0] ?? '')),
  );
  expect(results.filter(isHome)).toHaveLength(1);
});

test('guessing codes makes the address wait, and a sign-in can be started over', async () => {
  const { user } = await newUserWithApp();
  const browser = provider.browser('203.0.113.99');
  let page = await signIn(browser, user.email);
  const statuses: number[] = [];
  for (let tried = 0; tried < 6; tried++) {
    page = await enter(browser, page, '111111');
    statuses.push(page.status);
    // Long enough that the wait does not end on a slow machine.
    await sql`update svc.login_attempts set blocked_until = now() + interval '10 minutes'
      where blocked_until is not null`.execute(database.db);
  }
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
  expect((await browser.submit(page, '/restart')).html).toContain('type="password"');
});

test('a tenant that requires a second factor leads its members to add one before they get in', async () => {
  const { tenant } = await newTenant(database.db);
  await sql`update svc.tenants set require_second_factor = true where id = ${tenant.id}`.execute(database.db);
  const user = await newUser(database, 'password', tenant.id);
  const browser = provider.browser();
  const page = await signIn(browser, user.email, '/inside');
  expect(page.html).toContain('Add a second factor');
  expect(page.html).toContain('<svg');
  const secret = (/<code>([A-Z2-7 ]+)<\/code>/.exec(page.html)?.[1] ?? '').replaceAll(' ', '');
  const refused = await browser.submit(page, '/totp', { code: '000000' });
  expect(refused.status).toBe(400);
  // The page shows the same secret again.
  expect(refused.html.replaceAll(' ', '')).toContain(secret);
  expect((await browser.open(page.url)).html).toContain('Add a second factor');
  const codes = await browser.submit(refused, '/totp', { code: totpCode(secret, step()) });
  expect(codes.html.match(/<li><code>/g)).toHaveLength(10);
  expect(browser.cookie('svc_session')).toBeUndefined();
  expect((await browser.submit(codes, '/continue')).url).toBe(`${provider.baseUrl}/inside`);
  const [factor] = await listFactors(database.db, { userId: user.id });
  const remove = asUser(user, (ctx) => removeFactor(ctx, { factor: factor?.id ?? '' }));
  expect(await codeOf(remove)).toBe('factor_required');
});

test('when a tenant begins to require one, members without one sign in again, unless another tenant knows them', async () => {
  const { tenant, admin } = await newTenant(database.db);
  const { user: withApp, secret } = await newUserWithApp();
  const [without, elsewhere] = [
    await newUser(database, 'password', tenant.id),
    await newUser(database, 'password', tenant.id),
  ];
  for (const [id, user] of [
    [tenant.id, withApp],
    [(await newTenant(database.db)).tenant.id, elsewhere],
  ] as const)
    await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
      values (${id}, ${user.id}, 'tenant_member', now())`.execute(database.db);
  const sessionsOf = async ({ id }: { id: string }) =>
    (await sql`select from svc.oauth_models where kind = 'Session' and user_id = ${id}`.execute(database.db))
      .rows.length;
  for (const user of [without, elsewhere])
    expect(isHome(await signIn(provider.browser(), user.email))).toBe(true);
  const browser = provider.browser();
  await enter(browser, await signIn(browser, withApp.email), totpCode(secret, step()));
  const set = (requireSecondFactor: boolean, mode: 'preview' | 'execute' = 'execute') =>
    testMutation(
      database.db,
      admin,
      (ctx) => updateTenant(ctx, { tenantId: tenant.id, requireSecondFactor }),
      { mode },
    );
  const { result } = await set(true, 'preview');
  expect(JSON.stringify(result)).toContain(
    '1 member without a second factor is signed out of their browsers',
  );
  expect(await sessionsOf(without)).toBe(1);
  await set(true);
  expect(await Promise.all([without, elsewhere, withApp].map(sessionsOf))).toEqual([0, 1, 1]);
  expect((await signIn(provider.browser(), without.email)).html).toContain('Add a second factor');
});

test('who began to add a factor with the password alone adds none after the owner, whose key is another', async () => {
  const { tenant } = await newTenant(database.db);
  await sql`update svc.tenants set require_second_factor = true where id = ${tenant.id}`.execute(database.db);
  const user = await newUser(database, 'password', tenant.id);
  const keyOn = ({ html }: Visit) => /<code>([A-Z2-7 ]+)<\/code>/.exec(html)?.[1]?.replaceAll(' ', '') ?? '';
  const [attacker, owner] = [provider.browser(), provider.browser()];
  const [theirs, own] = [await signIn(attacker, user.email), await signIn(owner, user.email)];
  const [stolen, secret] = [keyOn(theirs), keyOn(own)];
  expect([stolen.length, secret.length]).toEqual([32, 32]);
  expect(stolen).not.toBe(secret);
  const codes = await owner.submit(own, '/totp', { code: totpCode(secret, step()) });
  await owner.submit(codes, '/continue');

  for (const code of [totpCode(stolen, step()), totpCode(secret, step() + 1)]) {
    const answer = await attacker.submit(theirs, '/totp', { code });
    expect(answer.html).toContain('Confirm that it is you');
    expect(answer.html).not.toContain(secret);
  }
  expect(attacker.cookie('svc_session')).toBeUndefined();
  expect(await listFactors(database.db, { userId: user.id })).toHaveLength(1);
  const now = await attacker.open(theirs.url);
  expect(isHome(await enter(attacker, now, totpCode(secret, step() + 1)))).toBe(true);
});

test('the operator removes all factors of somebody who has lost them', async () => {
  const { user } = await newUserWithApp();
  expect(await asUser(user, (ctx) => resetFactors(ctx, user))).toBe(1);
  expect(isHome(await signIn(provider.browser(), user.email))).toBe(true);
});

test('the secret of the app is sealed, and recovery codes are stored as hashes', async () => {
  const { user, secret, recoveryCodes } = await newUserWithApp();
  const { rows } = await sql<{ text: string }>`
    select to_json(a)::text as text from svc.authenticator_apps a where user_id = ${user.id} union all
    select to_json(c)::text from svc.recovery_codes c where user_id = ${user.id} union all
    select to_json(e)::text from svc.audit_entries e where target_id = ${user.id}`.execute(database.db);
  const stored = rows.map(({ text }) => text).join();
  expect(stored).not.toContain(Buffer.from(secret).toString('hex'));
  for (const plain of [secret, recoveryCodes[0] ?? '']) expect(stored).not.toContain(plain);
});
