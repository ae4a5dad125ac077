import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { sql } from 'kysely';
import { deleteApp } from '../apps/delete-app.ts';
import { purgeApp } from '../apps/purge-app.ts';
import type { Repository } from '../drivers/git-host/git-host.ts';
import { installFor } from '../drivers/git-host/testing/github-server.ts';
import { githubWorld } from '../drivers/git-host/testing/github-world.ts';
import { type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { connectionOf } from './connection-of.ts';
import { remoteOf } from './remote-of.ts';
import { installationObstacle } from './rules.ts';
import { type GitWorld, gitWorld, testBaseUrl } from './testing.ts';

setDefaultTimeout(30_000);
let database: TestDatabase;
let github: Awaited<ReturnType<typeof githubWorld>>;
beforeAll(async () => {
  database = await testDatabase();
  github = await githubWorld();
});
afterAll(async () => {
  await github.stop();
  await database.close();
});
beforeEach(() => {
  github.server.instead = null;
});

const hookUrl = `${testBaseUrl}/webhooks/git-host`;

/** With the account of a member of `octo-org` linked. */
async function world(login = 'octocat'): Promise<GitWorld> {
  const made = await gitWorld(database, github.host);
  const { body } = await made.call('POST', '/git-host/link');
  github.server.codes.approve(body.user_code, login);
  const polled = await made.call('POST', '/git-host/link/poll', { device_code: body.device_code });
  if (polled.body.status !== 'linked') throw new Error(JSON.stringify(polled.body));
  return made;
}

async function newRepo(
  set: { isPrivate?: boolean; name?: string } = {},
): Promise<Repository & { full: string }> {
  const installation = await github.host.installationOfOwner('octo-org');
  if (!installation) throw new Error('It is not installed.');
  const name = set.name ?? `r-${Bun.randomUUIDv7().slice(-12)}`;
  const repo = await github.host.asInstallation(installation.id).createRepository({
    ...{ owner: installation.account, name, isPrivate: set.isPrivate ?? true, description: '' },
    userToken: github.member.token,
  });
  return { ...repo, full: `${repo.owner}/${repo.name}` };
}

async function hookOf(repo: Repository): Promise<{ id: number } | null> {
  const installation = await github.host.installationOfRepo(repo);
  return github.host.asInstallation(installation?.id ?? 0, repo).findHook(repo, hookUrl);
}

describe('connecting', () => {
  test('a repository that the person pushes to is connected, and its hook is made afterwards', async () => {
    const made = await world();
    const repo = await newRepo();
    const preview = await made.git('POST', '?dry_run=true', { repo: repo.full });
    expect(preview.body.plan.changes.map(({ path }: { path: string }) => path)).toEqual([
      ...['repo', 'branch', 'private', 'installation_id'],
    ]);
    expect((await made.git('GET')).body).toEqual({ connected: false, connection: null, last_push: null });
    const { status, body } = await made.git('POST', '', { repo: repo.full });
    expect([status, body]).toEqual([
      201,
      {
        ...{ app_id: made.app.id, repo: repo.full, repo_id: repo.id, branch: 'main', private: true },
        ...{ installation_id: expect.any(Number), web_url: repo.webUrl, clone_url: repo.cloneUrl },
        ...{ hook: { state: 'waiting', detail: '' }, connected_by: made.people.owner.userId },
        connected_at: expect.any(String),
      },
    ]);
    expect(await hookOf(repo)).toBeNull();
    expect(await made.settle()).toEqual([]);
    expect(await hookOf(repo)).not.toBeNull();
    const shown = (await made.git('GET', '', undefined, made.people.admin)).body;
    expect(shown).toMatchObject({ connected: true, connection: { repo: repo.full, hook: { state: 'ok' } } });
    const connection = await connectionOf(database.db, { tenantId: made.tenant.id, appId: made.app.id });
    if (!connection) throw new Error('It is not connected.');
    expect(await remoteOf(made.parts, connection)).toEqual({
      ...{ url: repo.cloneUrl, username: 'x-access-token', password: expect.stringMatching(/^ghs_/) },
    });
  });

  test('a repository that was made anew under the same name is another: neither its code nor its hooks are touched', async () => {
    const made = await world();
    const repo = await newRepo();
    await made.git('POST', '', { repo: repo.full });
    expect(await made.settle()).toEqual([]);
    await github.remove(repo);
    const anew = await newRepo({ name: repo.name });
    const connection = await connectionOf(database.db, { tenantId: made.tenant.id, appId: made.app.id });
    if (!connection) throw new Error('It is not connected.');
    const refused = await remoteOf(made.parts, connection).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'not_found', detail: expect.stringContaining('made anew') });
    const hands = github.host.asInstallation(connection.installationId);
    await hands.createHook(anew, hookUrl);
    await made.git('DELETE');
    expect(await made.settle()).toEqual([]);
    expect(await hands.findHook(anew, hookUrl)).not.toBeNull();
  });

  test('the same again changes nothing; another repository or branch is refused', async () => {
    const made = await world();
    const [one, other] = [await newRepo(), await newRepo()];
    expect((await made.git('POST', '', { repo: one.full })).status).toBe(201);
    const again = await made.git('POST', '', { repo: one.full.toUpperCase() });
    expect([again.status, again.body.changed]).toEqual([200, false]);
    for (const body of [{ repo: other.full }, { repo: one.full, branch: 'dev' }]) {
      const refused = await made.git('POST', '', body);
      expect([refused.status, refused.body.code]).toEqual([409, 'already_connected']);
    }
  });

  test('what the person can not push to is as if it were not there', async () => {
    const made = await world('hubot');
    const [hidden, open] = [await newRepo(), await newRepo({ isPrivate: false })];
    for (const repo of [hidden.full, open.full, 'octo-org/none', 'nobody/none']) {
      const { status, body } = await made.git('POST', '', { repo });
      expect([repo, status, body.code]).toEqual([repo, 404, 'not_found']);
    }
  });

  test('an installation of another owner, or one that is not there, is refused', async () => {
    const made = await world();
    const repo = await newRepo();
    const foreign = installFor(github.server, {
      login: 'evil-org',
      type: 'Organization',
      members: ['octocat'],
    });
    const hidden = installFor(github.server, { login: 'far-org', type: 'Organization', members: [] });
    for (const installation_id of [foreign, hidden, 999_999_999]) {
      const { status, body } = await made.git('POST', '', { repo: repo.full, installation_id });
      expect([status, body.code]).toEqual([422, 'installation_mismatch']);
    }
    const right = (await github.host.installationOfRepo(repo))?.id;
    expect((await made.git('POST', '', { repo: repo.full, installation_id: right })).status).toBe(201);
  });

  test('a repository whose owner has not installed the app is told as such', async () => {
    const made = await world();
    const { account, token } = github.server.users.get('octocat') ?? { account: null, token: '' };
    const own = await github.host.asInstallation(1).createRepository({
      owner: { id: account?.id ?? 0, login: 'octocat', kind: 'user' },
      ...{ name: `own-${Bun.randomUUIDv7().slice(-12)}`, isPrivate: true, description: '', userToken: token },
    });
    const { status, body } = await made.git('POST', '', { repo: `octocat/${own.name}` });
    expect([status, body.code]).toEqual([409, 'installation_missing']);
  });

  test('without an account, for an archived app, and for who does not own it, it is refused', async () => {
    const repo = await newRepo();
    const unlinked = await gitWorld(database, github.host);
    const required = await unlinked.git('POST', '', { repo: repo.full });
    expect([required.status, required.body.code]).toEqual([409, 'git_account_required']);
    const made = await world();
    for (const by of [made.people.admin, made.people.member]) {
      const { status } = await made.git('POST', '', { repo: repo.full }, by);
      expect(status).toBe(by === made.people.admin ? 403 : 404);
    }
    await sql`update svc.apps set record = 'archived' where id = ${made.app.id}`.execute(database.db);
    for (const answer of [
      await made.git('POST', '', { repo: repo.full }),
      await made.git('POST', '/begin', { repo: repo.full }),
      await made.git('PATCH', '', { branch: 'dev' }),
    ])
      expect([answer.status, answer.body.code, answer.body.detail.includes('repository')]).toEqual([
        ...[409, 'app_not_active', true],
      ]);
    expect((await made.git('DELETE')).status).toBe(200);
  });

  test('what is no name of a repository or branch is refused before anybody is asked', async () => {
    const made = await world();
    const before = github.server.asked.length;
    const hostile = [
      'a',
      'a/b/c',
      '../..',
      'a/..',
      'a;b/c',
      '-a/b',
      'a/b.git',
      'a/b c',
      'a/$(id)',
      'a/\n',
      '/',
    ];
    for (const repo of hostile)
      expect([repo, (await made.git('POST', '', { repo })).status]).toEqual([repo, 400]);
    for (const branch of ['-x', '--upload-pack=x', 'a..b', 'a b', 'a\n', '', 'a.lock', 'a@{1}', '/a', 'HEAD'])
      expect([branch, (await made.git('POST', '', { repo: 'a/b', branch })).status]).toEqual([branch, 400]);
    expect(github.server.asked.length).toBe(before);
  });

  test('a hook that can not be made is told, and tried again', async () => {
    const made = await world();
    const repo = await newRepo();
    await made.git('POST', '', { repo: repo.full });
    github.server.instead = () => new Response('<html>', { status: 502 });
    expect(await made.settle()).toHaveLength(1);
    github.server.instead = null;
    const failed = (await made.git('GET')).body.connection.hook;
    expect(failed).toEqual({ state: 'failed', detail: expect.stringContaining('502') });
    const again = await made.git('POST', '', { repo: repo.full });
    expect([again.status, again.body.hook.state, again.body.changed]).toEqual([201, 'waiting', undefined]);
    expect(await made.settle()).toEqual([]);
    expect((await made.git('GET')).body.connection.hook).toEqual({ state: 'ok', detail: '' });
  });
});

describe('a connection', () => {
  test('is moved to another branch, and to the same one without a change', async () => {
    const made = await world();
    const none = await made.git('PATCH', '', { branch: 'dev' });
    expect([none.status, none.body.code]).toEqual([409, 'not_connected']);
    await made.git('POST', '', { repo: (await newRepo()).full });
    const moved = await made.git('PATCH', '', { branch: 'dev' });
    expect([moved.status, moved.body.branch, moved.body.changed]).toEqual([200, 'dev', undefined]);
    expect((await made.git('PATCH', '', { branch: 'dev' })).body.changed).toBe(false);
  });

  test('that ends takes its hook along, unless another app is deployed from the same repository', async () => {
    const [one, other] = [await world(), await world()];
    const repo = await newRepo();
    await one.git('POST', '', { repo: repo.full });
    await other.git('POST', '', { repo: repo.full });
    expect(await one.settle()).toEqual([]);
    const hook = await hookOf(repo);
    const ended = await one.git('DELETE');
    expect([ended.status, ended.body]).toEqual([200, { connected: false, repo: repo.full }]);
    expect(await one.settle()).toEqual([]);
    expect(await hookOf(repo)).toEqual(hook);
    expect((await one.git('DELETE')).body).toEqual({ connected: false, repo: null, changed: false });
    await other.git('DELETE');
    expect(await other.settle()).toEqual([]);
    expect(await hookOf(repo)).toBeNull();
  });

  test('goes with an app that is purged, and its hook too', async () => {
    const made = await world();
    const repo = await newRepo();
    await made.git('POST', '', { repo: repo.full });
    await made.settle();
    const { owner } = made.people;
    const context = { tenant: { ...made.tenant, role: 'tenant_member' as const }, app: made.app };
    await testMutation(database.db, owner, (ctx) => deleteApp(ctx), {
      context,
    });
    expect(await hookOf(repo)).not.toBeNull();
    const asAdmin = { tenant: made.tenant, app: { ...made.app, record: 'deleted' as const } };
    const options = { context: asAdmin, rows: database.rows };
    await testMutation(database.db, made.people.admin, (ctx) => purgeApp(ctx), options);
    expect(await made.settle()).toEqual([]);
    expect(await hookOf(repo)).toBeNull();
  });
});

describe('a connection that is begun in a browser', () => {
  test('is finished by who began it, once', async () => {
    const made = await world();
    const repo = await newRepo();
    const { status, body } = await made.git('POST', '/begin', { repo: repo.full, branch: 'dev' });
    expect([status, body.install_url]).toEqual([
      201,
      expect.stringContaining(encodeURIComponent(body.state)),
    ]);
    const { state } = body;
    for (const by of [made.people.coOwner, made.people.admin]) {
      const refused = await made.call('POST', '/git-host/complete', { state }, by);
      expect([refused.status, refused.body.code]).toEqual([404, 'not_found']);
    }
    const done = await made.call('POST', '/git-host/complete', { state });
    expect([done.status, done.body.repo, done.body.branch]).toEqual([200, repo.full, 'dev']);
    expect((await made.call('POST', '/git-host/complete', { state })).body.code).toBe('not_found');
    expect((await made.git('POST', '/begin', {})).body.code).toBe('already_connected');
  });

  test('needs a repository by then, is late after a quarter of an hour, and takes no foreign installation', async () => {
    const made = await world();
    const repo = await newRepo();
    const { state } = (await made.git('POST', '/begin', {})).body;
    const complete = (body: object) => made.call('POST', '/git-host/complete', { state, ...body });
    expect((await complete({})).body.code).toBe('validation_failed');
    const foreign = installFor(github.server, { login: 'x-org', type: 'Organization', members: ['octocat'] });
    const refused = await complete({ repo: repo.full, installation_id: foreign });
    expect(refused.body.code).toBe('installation_mismatch');
    await sql`update svc.git_connect_states set expires_at = now() where app_id = ${made.app.id}`.execute(
      database.db,
    );
    expect((await complete({ repo: repo.full })).body.code).toBe('not_found');
    expect((await made.call('POST', '/git-host/complete', { state: 'none' })).body.code).toBe('not_found');
  });
});

test('installations and their repositories are listed in pages, as far as the account reaches', async () => {
  const made = await world();
  const repo = await newRepo();
  const { body } = await made.call('GET', '/git-host/installations?per_page=200');
  const ours = body.items.find(({ account }: { account: string }) => account === 'octo-org');
  expect(ours).toEqual({
    id: ours.id,
    account: 'octo-org',
    account_kind: 'organization',
    repositories: 'all',
  });
  const repos = async (query: string) =>
    (await made.call('GET', `/git-host/installations/${ours.id}/repositories?${query}`)).body;
  const all = await repos('per_page=150');
  expect(all.items).toHaveLength(all.total);
  expect(all.items).toContainEqual({
    ...{ id: repo.id, full_name: repo.full, private: true, default_branch: 'main', can_push: true },
    web_url: repo.webUrl,
  });
  const second = await repos('per_page=1&page=2');
  expect([second.items, second.total]).toEqual([[all.items[1]], all.total]);
  const other = await world('hubot');
  const hidden = await other.call('GET', `/git-host/installations/${ours.id}/repositories`);
  expect([hidden.status, hidden.body.code]).toEqual([404, 'not_found']);
});

test('an installation stands for a repository only where it is its own, of its owner, and reached', () => {
  const of = (id: number, login: string) =>
    ({ id, account: { id: 1, login, kind: 'organization' }, repositories: 'all' }) as const;
  const [mine, theirs] = [of(1, 'Acme'), of(2, 'evil')];
  const base = { owner: 'acme', ofRepo: mine, given: undefined, own: [mine] };
  expect(installationObstacle(base)).toBeNull();
  expect(installationObstacle({ ...base, given: mine })).toBeNull();
  expect(installationObstacle({ ...base, given: theirs })).toBe('installation_mismatch');
  expect(installationObstacle({ ...base, given: of(3, 'acme') })).toBe('installation_mismatch');
  expect(installationObstacle({ ...base, given: null })).toBe('installation_mismatch');
  expect(installationObstacle({ ...base, ofRepo: null })).toBe('installation_missing');
  expect(installationObstacle({ ...base, ofRepo: theirs })).toBe('installation_mismatch');
  expect(installationObstacle({ ...base, own: [theirs] })).toBe('installation_mismatch');
});
