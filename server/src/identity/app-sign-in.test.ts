import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../testing.ts';
import {
  emailOf,
  newMemberOf,
  newSignInApp,
  redeem,
  renew,
  sentBack,
  signedInBrowser,
  signInToApp,
  startSignIn,
} from './app-sign-in-testing.ts';
import { newUser, startTestProvider, type TestProvider } from './provider-testing.ts';

let database: TestDatabase;
let provider: TestProvider;

beforeAll(async () => {
  database = await testDatabase();
  provider = await startTestProvider(database);
});
afterAll(async () => {
  await provider.stop();
  await database.close();
});

const setApp = (id: string, change: { visibility?: string; record?: string }) =>
  sql`update svc.apps set visibility = coalesce(${change.visibility ?? null}, visibility),
    record = coalesce(${change.record ?? null}, record) where id = ${id}`.execute(database.db);

test('a member signs in to an app: they are told its name, who they are and what it may do, once', async () => {
  const app = await newSignInApp(database, provider);
  const user = await newMemberOf(database, app);
  const browser = provider.browser();
  const begun = await startSignIn(browser, app);
  expect(begun.page.html).toContain('to continue to <strong>Shop &#60;b&#62;</strong>');
  const page = await begun.logIn(begun.page, user.email);
  expect(page.html).toContain('Shop &#60;b&#62; wants to sign you in');
  expect(page.html).toContain(user.email);
  expect(page.html).toContain('read and change your rows in its tables as you');
  expect(page.html).toContain(new URL(app.home).host);
  expect(page.headers.get('content-security-policy')).toContain(
    `form-action 'self' ${app.home.slice(0, -1)};`,
  );
  const { code = '', state } = sentBack(await begun.press(page, 'confirm'));
  expect(state).toBe('some-state');

  const fields = { clientId: app.id, code, verifier: begun.verifier, redirectUri: app.home };
  expect((await redeem(provider, { ...fields, verifier: 'x'.repeat(43) })).body.error).toBe('invalid_grant');
  const { status, body } = await redeem(provider, fields);
  expect([status, body.token_type, typeof body.refresh_token]).toEqual([200, 'Bearer', 'string']);
  expect(await provider.userOf(body.access_token)).toBe(user.id);
  const claims = JSON.parse(Buffer.from(body.id_token.split('.')[1], 'base64url').toString());
  expect(claims).toMatchObject({ sub: user.id, aud: app.id, nonce: 'some-nonce' });

  expect(sentBack((await startSignIn(browser, app)).page).code).toBeTruthy();
  // In another browser too: it is the person who has allowed it.
  const elsewhere = await signedInBrowser(provider, user.email);
  expect(sentBack((await startSignIn(elsewhere, app)).page).code).toBeTruthy();
});

test('who denies sends the app access_denied, and is asked again the next time', async () => {
  const app = await newSignInApp(database, provider);
  const user = await newMemberOf(database, app);
  const browser = await signedInBrowser(provider, user.email);
  const begun = await startSignIn(browser, app);
  expect(sentBack(await begun.press(begun.page, 'abort'))).toMatchObject({
    error: 'access_denied',
    state: 'some-state',
  });
  expect((await startSignIn(browser, app)).page.html).toContain('wants to sign you in');
});

test('an address that is not of the app is refused on our own page, and nobody is led there', async () => {
  const [app, other] = [await newSignInApp(database, provider), await newSignInApp(database, provider)];
  const user = await newMemberOf(database, app);
  const browser = await signedInBrowser(provider, user.email);
  for (const redirectUri of [other.home, 'https://evil.example.test/', `${app.home}?x=1`, `${app.home}#x`]) {
    const { page } = await startSignIn(browser, app, { redirectUri });
    expect([redirectUri, page.status, page.location]).toEqual([redirectUri, 400, null]);
    expect(page.html).toContain('This request is not valid');
  }
  const deep = await startSignIn(browser, app, { redirectUri: `${app.home}signed/in` });
  expect(sentBack(await deep.press(deep.page, 'confirm')).code).toBeTruthy();
});

test('on loopback, for making the app, consent is asked for each time: any program can be there', async () => {
  const app = await newSignInApp(database, provider);
  const user = await newMemberOf(database, app);
  const browser = await signedInBrowser(provider, user.email);
  await signInToApp(provider, browser, app);
  for (const redirectUri of ['http://localhost:5173/back', 'http://127.0.0.1:1234/', 'http://[::1]:9/x']) {
    const begun = await startSignIn(browser, app, { redirectUri });
    expect(begun.page.html).toContain('a program on your own computer');
    const { code = '' } = sentBack(await begun.press(begun.page, 'confirm'));
    const answer = await redeem(provider, { clientId: app.id, code, verifier: begun.verifier, redirectUri });
    expect(answer.status).toBe(200);
  }
});

test("an app can redeem neither another's code nor its refresh token", async () => {
  const [app, other] = [await newSignInApp(database, provider), await newSignInApp(database, provider)];
  const user = await newMemberOf(database, app);
  const browser = await signedInBrowser(provider, user.email);
  const { refreshToken } = await signInToApp(provider, browser, app);
  const begun = await startSignIn(browser, app);
  const { code = '' } = sentBack(begun.page);
  const fields = { code, verifier: begun.verifier, redirectUri: app.home };
  expect((await redeem(provider, { ...fields, clientId: other.id })).body.error).toBe('invalid_grant');
  expect((await renew(provider, other.id, refreshToken)).body.error).toBe('invalid_grant');
  expect((await redeem(provider, { ...fields, clientId: app.id })).status).toBe(200);
});

test('an app is closed to whom it does not reach: strangers always, members by its visibility', async () => {
  const app = await newSignInApp(database, provider);
  const [stranger, member, coOwner] = [
    await newUser(database),
    await newMemberOf(database, app),
    await newMemberOf(database, app),
  ];
  await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
    values (${app.id}, ${coOwner.id}, ${app.ownerId}, now())`.execute(database.db);
  const outcome = async (email: string, visibility: string) => {
    await setApp(app.id, { visibility });
    const { page } = await startSignIn(await signedInBrowser(provider, email), app);
    if (page.location === null) return page.html.includes('wants to sign you in') ? 'open' : page.html;
    return sentBack(page).error;
  };
  const owner = await emailOf(database, app.ownerId);
  for (const visibility of ['private', 'invite_only']) {
    expect(await outcome(stranger.email, visibility)).toBe('access_denied');
    expect(await outcome(member.email, visibility)).toBe('access_denied');
    expect(await outcome(coOwner.email, visibility)).toBe('open');
    expect(await outcome(owner, visibility)).toBe('open');
  }
  for (const visibility of ['public', 'internet']) {
    expect(await outcome(stranger.email, visibility)).toBe('access_denied');
    expect(await outcome(member.email, visibility)).toBe('open');
  }
});

test('a tenant admin who is no owner governs a private app, and is not signed in to it', async () => {
  const app = await newSignInApp(database, provider, { visibility: 'private' });
  const admin = await newMemberOf(database, app);
  await sql`update svc.memberships set role = 'tenant_admin' where user_id = ${admin.id}`.execute(
    database.db,
  );
  const { page } = await startSignIn(await signedInBrowser(provider, admin.email), app);
  expect(sentBack(page).error).toBe('access_denied');
});

test('an app that closes between the question and the answer gets no code', async () => {
  const app = await newSignInApp(database, provider);
  const user = await newMemberOf(database, app);
  const begun = await startSignIn(await signedInBrowser(provider, user.email), app);
  await setApp(app.id, { visibility: 'private' });
  expect(sentBack(await begun.press(begun.page, 'confirm')).error).toBe('access_denied');
});

test('an archived, deleted or made-up app signs nobody in', async () => {
  for (const record of ['archived', 'deleted']) {
    const app = await newSignInApp(database, provider);
    await setApp(app.id, { record });
    const { page } = await startSignIn(provider.browser(), app);
    expect([page.status, page.location]).toEqual([400, null]);
  }
  const app = await newSignInApp(database, provider);
  for (const id of [Bun.randomUUIDv7(), app.id.toUpperCase(), 'app']) {
    expect((await startSignIn(provider.browser(), { ...app, id })).page.status).toBe(400);
  }
});

test('an app without a subdomain has no host to lead back to, and never that of another', async () => {
  const [first, second] = [await newSignInApp(database, provider), await newSignInApp(database, provider)];
  await sql`update svc.apps set subdomain = null where id = ${second.id}`.execute(database.db);
  const user = await newMemberOf(database, second);
  const browser = await signedInBrowser(provider, user.email);
  for (const redirectUri of [second.home, first.home])
    expect((await startSignIn(browser, second, { redirectUri })).page.status).toBe(400);
  const onLoopback = await startSignIn(browser, second, { redirectUri: 'http://localhost:1/' });
  expect(onLoopback.page.html).toContain('wants to sign you in');
});

test('only pages of the app, or of this machine, may speak to the token, revocation and userinfo endpoints', async () => {
  const [app, other] = [await newSignInApp(database, provider), await newSignInApp(database, provider)];
  const user = await newMemberOf(database, app);
  const { accessToken } = await signInToApp(provider, await signedInBrowser(provider, user.email), app);
  const fields = { clientId: app.id, code: 'x', verifier: 'x'.repeat(43), redirectUri: app.home };
  const answersTo = async (origin: string) => {
    const token = await redeem(provider, fields, { origin });
    const revocation = await provider.post(
      '/oauth/token/revocation',
      { client_id: app.id, token: 'x' },
      { origin },
    );
    const userinfo = await fetch(`${provider.baseUrl}/oauth/me`, {
      headers: { origin, authorization: `Bearer ${accessToken}` },
    });
    return [token, revocation, userinfo].map(({ status, headers }) => ({
      status,
      allowed: headers.get('access-control-allow-origin'),
    }));
  };
  for (const origin of [app.home.slice(0, -1), 'http://localhost:5173', 'http://127.0.0.1:8080']) {
    expect(await answersTo(origin)).toEqual([
      { status: 400, allowed: origin },
      { status: 200, allowed: origin },
      { status: 200, allowed: origin },
    ]);
  }
  for (const origin of [
    other.home.slice(0, -1),
    'https://localhost:5173',
    'https://evil.example.test',
    'null',
  ]) {
    for (const { status, allowed } of await answersTo(origin))
      expect([origin, status, allowed]).toEqual([origin, 400, null]);
  }
});
