import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import {
  callbackParams,
  newMemberOf,
  newSignInApp,
  newUser,
  redeem,
  refresh,
  signedInBrowser,
  signInToApp,
  startSignIn,
  useProvider,
} from './provider-testing.ts';

const { database, provider } = useProvider();

const setApp = (id: string, change: { visibility?: string; record?: string }) =>
  sql`update svc.apps set visibility = coalesce(${change.visibility ?? null}, visibility),
    record = coalesce(${change.record ?? null}, record) where id = ${id}`.execute(database.db);

/** An app that nobody has reviewed, with its owner. */
async function newUnreviewed() {
  const app = await newSignInApp(database, provider, { visibility: 'private' });
  return { app, user: { id: app.ownerId, email: app.ownerEmail } };
}

test('a person signs in to an app that is not reviewed: the consent page shows app, user and rights, once', async () => {
  const { app, user } = await newUnreviewed();
  const browser = provider.browser();
  const begun = await startSignIn(browser, app);
  expect(begun.page.html).toContain('to continue to <strong>Shop &#60;b&#62;</strong>');
  const page = await begun.logIn(begun.page, user.email);
  expect(page.html).toContain('Shop &#60;b&#62; wants to sign you in');
  expect(page.html).toContain(user.email);
  expect(page.html).toContain('read and change rows in its tables on your behalf');
  expect(page.html).toContain(new URL(app.home).host);
  expect(page.headers.get('content-security-policy')).toContain(
    `form-action 'self' ${app.home.slice(0, -1)};`,
  );
  const { code = '', state } = callbackParams(await begun.press(page, 'confirm'));
  expect(state).toBe('some-state');

  const fields = { clientId: app.id, code, verifier: begun.verifier, redirectUri: app.home };
  expect((await redeem(provider, { ...fields, verifier: 'x'.repeat(43) })).body.error).toBe('invalid_grant');
  const { status, body } = await redeem(provider, fields);
  expect([status, body.token_type, typeof body.refresh_token]).toEqual([200, 'Bearer', 'string']);
  expect(await provider.userOf(body.access_token)).toBe(user.id);
  const claims = JSON.parse(Buffer.from(body.id_token.split('.')[1], 'base64url').toString());
  expect(claims).toMatchObject({ sub: user.id, aud: app.id, nonce: 'some-nonce' });

  expect(callbackParams((await startSignIn(browser, app)).page).code).toBeTruthy();
  // Consent belongs to the user, not to the browser.
  const elsewhere = await signedInBrowser(provider, user.email);
  expect(callbackParams((await startSignIn(elsewhere, app)).page).code).toBeTruthy();
});

test('a reviewed app of the own tenant needs no consent, but its staging host does, each time', async () => {
  const app = await newSignInApp(database, provider, { visibility: 'public' });
  const user = await newMemberOf(database, app);
  const browser = await signedInBrowser(provider, user.email);
  expect(callbackParams((await startSignIn(browser, app)).page).code).toBeTruthy();
  const name = new URL(app.home).hostname.split('.')[0] ?? '';
  const redirectUri = app.home.replace(name, `${name}--staging`);
  for (let twice = 0; twice < 2; twice++) {
    const begun = await startSignIn(browser, app, { redirectUri });
    expect(begun.page.html).toContain('wants to sign you in');
    const { code = '' } = callbackParams(await begun.press(begun.page, 'confirm'));
    const { verifier } = begun;
    const answer = await redeem(provider, { clientId: app.id, code, verifier, redirectUri });
    expect(answer.status).toBe(200);
  }
  // The host of a preview belongs to another client.
  for (const label of [
    `fix-prices--${name}`,
    `${name}--other`,
    `--${name}`,
    `${name}--staging--x`,
    `x--y.${name}`,
  ]) {
    const { page } = await startSignIn(browser, app, { redirectUri: app.home.replace(name, label) });
    expect([label, page.status]).toEqual([label, 400]);
  }
});

test('denying consent gives access_denied, and consent is requested again', async () => {
  const { app, user } = await newUnreviewed();
  const browser = await signedInBrowser(provider, user.email);
  const begun = await startSignIn(browser, app);
  expect(callbackParams(await begun.press(begun.page, 'abort'))).toMatchObject({
    error: 'access_denied',
    state: 'some-state',
  });
  expect((await startSignIn(browser, app)).page.html).toContain('wants to sign you in');
});

test('a redirect URI of another host is refused on our own page', async () => {
  const [app, other] = [await newSignInApp(database, provider), await newSignInApp(database, provider)];
  const user = await newMemberOf(database, app);
  const browser = await signedInBrowser(provider, user.email);
  for (const redirectUri of [other.home, 'https://evil.example.test/', `${app.home}?x=1`, `${app.home}#x`]) {
    const { page } = await startSignIn(browser, app, { redirectUri });
    expect([redirectUri, page.status, page.location]).toEqual([redirectUri, 400, null]);
    expect(page.html).toContain('This request is not valid');
  }
  const deep = await startSignIn(browser, app, { redirectUri: `${app.home}signed/in` });
  expect(callbackParams(deep.page).code).toBeTruthy();
});

test('a loopback redirect asks for consent each time', async () => {
  const app = await newSignInApp(database, provider);
  const user = await newMemberOf(database, app);
  const browser = await signedInBrowser(provider, user.email);
  await signInToApp(provider, browser, app);
  for (const redirectUri of ['http://localhost:5173/back', 'http://127.0.0.1:1234/', 'http://[::1]:9/x']) {
    const begun = await startSignIn(browser, app, { redirectUri });
    expect(begun.page.html).toContain('a program on your computer');
    const { code = '' } = callbackParams(await begun.press(begun.page, 'confirm'));
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
  const { code = '' } = callbackParams(begun.page);
  const fields = { code, verifier: begun.verifier, redirectUri: app.home };
  expect((await redeem(provider, { ...fields, clientId: other.id })).body.error).toBe('invalid_grant');
  expect((await refresh(provider, refreshToken, other.id)).body.error).toBe('invalid_grant');
  expect((await redeem(provider, { ...fields, clientId: app.id })).status).toBe(200);
});

test('only tenant members to whom the app is visible can sign in', async () => {
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
    const { code, error } = callbackParams(page);
    return code === undefined ? error : 'open';
  };
  const owner = app.ownerEmail;
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

test('a tenant admin who is no owner signs in to a private app only while it is in review', async () => {
  const app = await newSignInApp(database, provider, { visibility: 'private' });
  const admin = await newMemberOf(database, app);
  await sql`update svc.memberships set role = 'tenant_admin' where user_id = ${admin.id}`.execute(
    database.db,
  );
  const browser = await signedInBrowser(provider, admin.email);
  const outcome = async () => (await startSignIn(browser, app)).page;
  expect(callbackParams(await outcome()).error).toBe('access_denied');
  await sql`insert into svc.publication_requests (id, tenant_id, app_id, status, visibility, visibility_before, pinned,
      release_id, digest, requested_by, requested_at, expires_at)
    select ${Bun.randomUUIDv7()}, tenant_id, id, 'pending', 'public', 'private', 'live', id, 'x', owner_id, now(),
      now() + interval '1 day' from svc.apps where id = ${app.id}`.execute(database.db);
  expect((await outcome()).html).toContain('wants to sign you in');
  await sql`update svc.publication_requests set status = 'rejected', decided_at = now()
    where app_id = ${app.id}`.execute(database.db);
  expect(callbackParams(await outcome()).error).toBe('access_denied');
});

test('an app that is hidden while consent is requested gets no code', async () => {
  const app = await newSignInApp(database, provider);
  const user = await newMemberOf(database, app);
  const redirectUri = app.home.replace('.apps.', '--staging.apps.');
  const begun = await startSignIn(await signedInBrowser(provider, user.email), app, { redirectUri });
  await setApp(app.id, { visibility: 'private' });
  expect(callbackParams(await begun.press(begun.page, 'confirm')).error).toBe('access_denied');
});

test('an archived, deleted or unknown app signs nobody in', async () => {
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

test('an app without a subdomain accepts loopback redirects only', async () => {
  const [first, second] = [await newSignInApp(database, provider), await newSignInApp(database, provider)];
  await sql`update svc.apps set subdomain = null where id = ${second.id}`.execute(database.db);
  const user = await newMemberOf(database, second);
  const browser = await signedInBrowser(provider, user.email);
  for (const redirectUri of [second.home, first.home])
    expect((await startSignIn(browser, second, { redirectUri })).page.status).toBe(400);
  const onLoopback = await startSignIn(browser, second, { redirectUri: 'http://localhost:1/' });
  expect(onLoopback.page.html).toContain('wants to sign you in');
});

test("CORS allows the app's origin and loopback at the token, revocation and userinfo endpoints", async () => {
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
