import { expect, test } from 'bun:test';
import { sha256 } from '../../core/values.ts';
import { newUser } from '../../testing.ts';
import { browserHeaders, loginHeaders, useServer } from '../provider/testing.ts';
import { countModels, openSession, writeModel } from './testing.ts';

const { database, server } = useServer();

const path = '/api/v1/me/sessions';

async function deviceLogin(userId: string, { refreshSeconds = 86_400 } = {}) {
  const grantId = Bun.randomUUIDv7();
  const payload = { accountId: userId, clientId: 'svc-cli', grantId };
  await writeModel(database.db, {
    kind: 'Grant',
    id: grantId,
    payload: { accountId: userId, clientId: 'svc-cli' },
    seconds: 1e6,
  });
  await writeModel(database.db, { kind: 'AccessToken', id: `a-${grantId}`, payload, seconds: 600 });
  await writeModel(database.db, {
    kind: 'RefreshToken',
    id: `r-${grantId}`,
    payload,
    seconds: refreshSeconds,
  });
  const headers = { authorization: `Bearer a-${grantId}` };
  return { id: await currentOf(headers), headers };
}

async function currentOf(headers: Record<string, string>): Promise<string> {
  const { body } = await server.call(headers, 'GET', path);
  return body.items.find((item: { current: boolean }) => item.current).id;
}

test('sign-ins are listed with their kind, and the current one is marked', async () => {
  const user = await newUser(database.db, null);
  const cli = await deviceLogin(user.userId);
  const browser = await browserHeaders(database, user);
  const { status, body } = await server.call(cli.headers, 'GET', path);
  expect(status).toBe(200);
  expect(body.items.map((item: { kind: string }) => item.kind).sort()).toEqual(['browser', 'cli']);
  const current = body.items.filter((item: { current: boolean }) => item.current);
  expect(current).toMatchObject([{ id: cli.id, kind: 'cli', client: 'svc-cli' }]);
  // The session lasts as long as it can be refreshed.
  expect(Date.parse(current[0].expires_at)).toBeGreaterThan(Date.now() + 86_000_000);
  const seen = await server.call(browser, 'GET', path);
  const inBrowser = seen.body.items.filter((item: { current: boolean }) => item.current);
  expect(inBrowser).toMatchObject([{ kind: 'browser' }]);
});

test('a sign-in has a stable, unique UUIDv7 with its creation time', async () => {
  const user = await newUser(database.db, null);
  const logins = [await deviceLogin(user.userId), await deviceLogin(user.userId)] as const;
  const { body } = await server.call(logins[0].headers, 'GET', path);
  const items: { id: string; created_at: string }[] = body.items;
  expect(items.map(({ id }) => id).sort()).toEqual(logins.map(({ id }) => id).sort());
  for (const { id, created_at } of items) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(Date.parse(created_at));
  }
  expect(new Set(items.map(({ id }) => id)).size).toBe(2);
});

test('ended sign-ins and those of other users are not listed', async () => {
  const [user, stranger] = [await newUser(database.db, null), await newUser(database.db, null)];
  const login = await loginHeaders(database, user);
  await deviceLogin(stranger.userId);
  await openSession(database.db, user.userId, { seconds: -1 });
  const payload = { accountId: user.userId, clientId: 'svc-cli' };
  await writeModel(database.db, { kind: 'Grant', id: `bare-${user.userId}`, payload });
  await writeModel(database.db, { kind: 'Grant', id: `used-${user.userId}`, payload });
  const used = { ...payload, grantId: `used-${user.userId}` };
  await writeModel(database.db, {
    kind: 'RefreshToken',
    id: `r-${user.userId}`,
    payload: used,
    consumed: true,
  });
  const { body } = await server.call(login, 'GET', path);
  expect(body.items).toHaveLength(1);
  expect(body.items[0].current).toBe(true);
});

test('revoking a login deletes its grant and tokens, and nothing else', async () => {
  const user = await newUser(database.db, null);
  const [ended, kept] = [await deviceLogin(user.userId), await deviceLogin(user.userId)];
  expect((await server.call(kept.headers, 'DELETE', `${path}/${ended.id}`)).status).toBe(204);
  expect(await countModels(database.db, user.userId)).toBe(3);
  expect((await server.call(kept.headers, 'DELETE', `${path}/${ended.id}`)).status).toBe(404);
  const { body } = await server.call(kept.headers, 'GET', path);
  expect(body.items.map((item: { id: string }) => item.id)).toEqual([kept.id]);
});

test('revoking a browser session deletes the grants that depend on it', async () => {
  const user = await newUser(database.db, null);
  const [bound, free] = [await deviceLogin(user.userId), await deviceLogin(user.userId)];
  const grantOf = (login: typeof bound) => login.headers.authorization.slice('Bearer a-'.length);
  const authorizations = {
    web: { grantId: grantOf(bound) },
    'svc-cli': { grantId: grantOf(free), persistsLogout: true },
  };
  const cookie = await openSession(database.db, user.userId, { authorizations });
  const browser = { cookie: `svc_session=${cookie}`, 'sec-fetch-site': 'same-origin' };
  expect((await server.call(browser, 'DELETE', `${path}/${await currentOf(browser)}`)).status).toBe(204);
  const { body } = await server.call(free.headers, 'GET', path);
  expect(body.items.map((item: { id: string }) => item.id)).toEqual([free.id]);
});

test("another user's sign-in, a missing one and an invalid id all give 404", async () => {
  const [user, stranger] = [await newUser(database.db, null), await newUser(database.db, null)];
  const login = await loginHeaders(database, user);
  const theirs = await deviceLogin(stranger.userId);
  const answers = await Promise.all(
    [theirs.id, Bun.randomUUIDv7(), sha256('absent'), 'nonsense', '%00'].map((id) =>
      server.call(login, 'DELETE', `${path}/${id}`),
    ),
  );
  for (const answer of answers) expect(answer).toEqual(answers[0]!);
  expect(answers[0]!.status).toBe(404);
  expect((await server.call(theirs.headers, 'GET', path)).status).toBe(200);
});

test('a preview of a revocation ends nothing', async () => {
  const user = await newUser(database.db, null);
  const login = await deviceLogin(user.userId);
  const preview = await server.call(login.headers, 'DELETE', `${path}/${login.id}?dry_run=true`);
  expect(preview.body.plan.target).toMatchObject({ kind: 'session', id: login.id });
  expect((await server.call(login.headers, 'GET', path)).status).toBe(200);
});
