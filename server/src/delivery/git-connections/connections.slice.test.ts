import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { deleteApp, purgeApp } from '../../apps/record/lifecycle.ts';
import type { Repository } from '../../drivers/git/git-host.ts';
import { installFor } from '../../drivers/git/testing/github-server.ts';
import { testOrigin } from '../../identity/provider/testing.ts';
import { testMutation } from '../../testing.ts';
import { findConnection } from './connections.ts';
import { openRemote } from './repositories.ts';
import { installationObstacle } from './rules.ts';
import { type GitTestEnv, newGitEnv, useGitHub } from './testing.ts';

const shared = useGitHub();

const hookUrl = `${testOrigin}/webhooks/git-host`;

/** An env with the linked account of a member of `octo-org`. */
async function linkedEnv(login = 'octocat'): Promise<GitTestEnv> {
  const env = await newGitEnv(shared.database, shared.github.host);
  const { body } = await env.call('POST', '/git-host/link');
  await shared.github.server.codes.approve(body.user_code, login);
  const polled = await env.call('POST', '/git-host/link/poll', { device_code: body.device_code });
  if (polled.body.status !== 'linked') throw new Error(JSON.stringify(polled.body));
  return env;
}

async function newRepo(
  set: { isPrivate?: boolean; name?: string } = {},
): Promise<Repository & { full: string }> {
  const installation = await shared.github.host.installationOfOwner('octo-org');
  if (!installation) throw new Error('It is not installed.');
  const name = set.name ?? `r-${Bun.randomUUIDv7().slice(-12)}`;
  const repo = await shared.github.host.asInstallation(installation.id).createRepository({
    owner: installation.account,
    name,
    isPrivate: set.isPrivate ?? true,
    description: '',
    userToken: shared.github.member.token,
  });
  return { ...repo, full: `${repo.owner}/${repo.name}` };
}

async function findHook(repo: Repository): Promise<{ id: number } | null> {
  const installation = await shared.github.host.installationOfRepo(repo);
  return shared.github.host.asInstallation(installation?.id ?? 0, repo).findHook(repo, hookUrl);
}

describe('connecting', () => {
  test('connects a repository that the user can push to, and creates its hook afterwards', async () => {
    const env = await linkedEnv();
    const repo = await newRepo();
    const preview = await env.git('POST', '?dry_run=true', { repo: repo.full });
    expect(preview.body.plan.changes.map(({ path }: { path: string }) => path)).toEqual([
      'repo',
      'branch',
      'private',
      'installation_id',
    ]);
    expect((await env.git('GET')).body).toEqual({
      connected: false,
      push_url: null,
      connection: null,
      last_push: null,
    });
    const { status, body } = await env.git('POST', '', { repo: repo.full });
    expect([status, body]).toEqual([
      201,
      {
        app_id: env.app.id,
        repo: repo.full,
        repo_id: repo.id,
        branch: 'main',
        private: true,
        installation_id: expect.any(Number),
        web_url: repo.webUrl,
        clone_url: repo.cloneUrl,
        hook: { state: 'waiting', detail: '' },
        connected_by: env.people.owner.userId,
        connected_at: expect.any(String),
      },
    ]);
    expect(await findHook(repo)).toBeNull();
    expect(await env.runEffects()).toEqual([]);
    expect(await findHook(repo)).not.toBeNull();
    const shown = (await env.git('GET', '', undefined, env.people.admin)).body;
    expect(shown).toMatchObject({ connected: true, connection: { repo: repo.full, hook: { state: 'ok' } } });
    const connection = await findConnection(shared.database.db, {
      tenantId: env.tenant.id,
      appId: env.app.id,
    });
    if (!connection) throw new Error('It is not connected.');
    expect(await openRemote(env.deps, connection)).toEqual({
      url: repo.cloneUrl,
      username: 'x-access-token',
      password: expect.stringMatching(/^ghs_/),
    });
  });

  test('creates the repository on request, and nothing in a preview or if the connection would be refused', async () => {
    const env = await linkedEnv();
    const { full } = await newRepo();
    const repo = `${full}-new`;
    expect((await env.git('POST', '', { create: true })).status).toBe(400);
    expect((await env.git('POST', '', { repo })).status).toBe(404);
    const preview = await env.git('POST', '?dry_run=true', { repo, create: true });
    expect(preview.body.plan.changes.map(({ path }: { path: string }) => path)).toContain('new_repository');
    expect((await env.git('POST', '?dry_run=true', { repo })).status).toBe(404);
    const { status, body } = await env.git('POST', '', { repo, create: true, branch: 'release' });
    expect([status, body]).toMatchObject([201, { repo, branch: 'release', private: true }]);
    expect((await env.git('POST', '', { repo: `${repo}-2`, create: true })).body.code).toBe(
      'already_connected',
    );
    await env.git('DELETE');
    expect((await env.git('POST', '?dry_run=true', { repo: `${repo}-2` })).status).toBe(404);
    expect((await env.git('POST', '', { repo: 'nobody/x', create: true })).body.code).toBe(
      'installation_missing',
    );
  });

  test('does not touch a new repository with the name of the connected one', async () => {
    const env = await linkedEnv();
    const repo = await newRepo();
    await env.git('POST', '', { repo: repo.full });
    expect(await env.runEffects()).toEqual([]);
    await shared.github.remove(repo);
    const renewed = await newRepo({ name: repo.name });
    const connection = await findConnection(shared.database.db, {
      tenantId: env.tenant.id,
      appId: env.app.id,
    });
    if (!connection) throw new Error('It is not connected.');
    const refused = await openRemote(env.deps, connection).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'not_found', detail: expect.stringContaining('was deleted') });
    const client = shared.github.host.asInstallation(connection.installationId);
    await client.createHook(renewed, hookUrl);
    await env.git('DELETE');
    expect(await env.runEffects()).toEqual([]);
    expect(await client.findHook(renewed, hookUrl)).not.toBeNull();
  });

  test('is idempotent; another repository or branch is rejected', async () => {
    const env = await linkedEnv();
    const [one, other] = [await newRepo(), await newRepo()];
    expect((await env.git('POST', '', { repo: one.full })).status).toBe(201);
    const again = await env.git('POST', '', { repo: one.full.toUpperCase() });
    expect([again.status, again.body.changed]).toEqual([200, false]);
    for (const body of [{ repo: other.full }, { repo: one.full, branch: 'dev' }]) {
      const refused = await env.git('POST', '', body);
      expect([refused.status, refused.body.code]).toEqual([409, 'already_connected']);
    }
  });

  test('reports a repository without push permission as not found', async () => {
    const env = await linkedEnv('hubot');
    const [hidden, open] = [await newRepo(), await newRepo({ isPrivate: false })];
    for (const repo of [hidden.full, open.full, 'octo-org/none', 'nobody/none']) {
      const { status, body } = await env.git('POST', '', { repo });
      expect([repo, status, body.code]).toEqual([repo, 404, 'not_found']);
    }
  });

  test('rejects an installation of another owner and an unknown one', async () => {
    const env = await linkedEnv();
    const repo = await newRepo();
    const foreign = installFor(shared.github.server, {
      login: 'evil-org',
      type: 'Organization',
      members: ['octocat'],
    });
    const hidden = installFor(shared.github.server, { login: 'far-org', type: 'Organization', members: [] });
    for (const installation_id of [foreign, hidden, 999_999_999]) {
      const { status, body } = await env.git('POST', '', { repo: repo.full, installation_id });
      expect([status, body.code]).toEqual([422, 'installation_mismatch']);
    }
    const right = (await shared.github.host.installationOfRepo(repo))?.id;
    expect((await env.git('POST', '', { repo: repo.full, installation_id: right })).status).toBe(201);
  });

  test('reports that the owner has not installed the app', async () => {
    const env = await linkedEnv();
    const { account, token } = shared.github.server.users.get('octocat') ?? { account: null, token: '' };
    const own = await shared.github.host.asInstallation(1).createRepository({
      owner: { id: account?.id ?? 0, login: 'octocat', kind: 'user' },
      name: `own-${Bun.randomUUIDv7().slice(-12)}`,
      isPrivate: true,
      description: '',
      userToken: token,
    });
    const { status, body } = await env.git('POST', '', { repo: `octocat/${own.name}` });
    expect([status, body.code]).toEqual([409, 'installation_missing']);
  });

  test('is rejected without an account, for an archived app and for users who do not own it', async () => {
    const repo = await newRepo();
    const unlinked = await newGitEnv(shared.database, shared.github.host);
    const required = await unlinked.git('POST', '', { repo: repo.full });
    expect([required.status, required.body.code]).toEqual([409, 'git_account_required']);
    const env = await linkedEnv();
    for (const by of [env.people.admin, env.people.member]) {
      const { status } = await env.git('POST', '', { repo: repo.full }, by);
      expect(status).toBe(by === env.people.admin ? 403 : 404);
    }
    await sql`update svc.apps set record = 'archived' where id = ${env.app.id}`.execute(shared.database.db);
    for (const answer of [
      await env.git('POST', '', { repo: repo.full }),
      await env.git('POST', '/begin', { repo: repo.full }),
      await env.git('PATCH', '', { branch: 'dev' }),
    ])
      expect([answer.status, answer.body.code, answer.body.detail.includes('repository')]).toEqual([
        409,
        'app_not_active',
        true,
      ]);
    expect((await env.git('DELETE')).status).toBe(200);
  });

  test('rejects invalid repository and branch names without asking the host', async () => {
    const env = await linkedEnv();
    const before = shared.github.server.requests.length;
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
      expect([repo, (await env.git('POST', '', { repo })).status]).toEqual([repo, 400]);
    for (const branch of ['-x', '--upload-pack=x', 'a..b', 'a b', 'a\n', '', 'a.lock', 'a@{1}', '/a', 'HEAD'])
      expect([branch, (await env.git('POST', '', { repo: 'a/b', branch })).status]).toEqual([branch, 400]);
    expect(shared.github.server.requests.length).toBe(before);
  });

  test('shows a hook that cannot be created, and retries it', async () => {
    const env = await linkedEnv();
    const repo = await newRepo();
    await env.git('POST', '', { repo: repo.full });
    shared.github.server.instead = () => new Response('<html>', { status: 502 });
    expect(await env.runEffects()).toHaveLength(1);
    shared.github.server.instead = null;
    const failed = (await env.git('GET')).body.connection.hook;
    expect(failed).toEqual({ state: 'failed', detail: expect.stringContaining('502') });
    const again = await env.git('POST', '', { repo: repo.full });
    expect([again.status, again.body.hook.state, again.body.changed]).toEqual([201, 'waiting', undefined]);
    expect(await env.runEffects()).toEqual([]);
    expect((await env.git('GET')).body.connection.hook).toEqual({ state: 'ok', detail: '' });
  });
});

describe('a connection', () => {
  test('can be changed to another branch', async () => {
    const env = await linkedEnv();
    const none = await env.git('PATCH', '', { branch: 'dev' });
    expect([none.status, none.body.code]).toEqual([409, 'not_connected']);
    await env.git('POST', '', { repo: (await newRepo()).full });
    const moved = await env.git('PATCH', '', { branch: 'dev' });
    expect([moved.status, moved.body.branch, moved.body.changed]).toEqual([200, 'dev', undefined]);
    expect((await env.git('PATCH', '', { branch: 'dev' })).body.changed).toBe(false);
  });

  test('that is removed deletes its hook, unless another app uses the repository', async () => {
    const [one, other] = [await linkedEnv(), await linkedEnv()];
    const repo = await newRepo();
    await one.git('POST', '', { repo: repo.full });
    await other.git('POST', '', { repo: repo.full });
    expect(await one.runEffects()).toEqual([]);
    const hook = await findHook(repo);
    const ended = await one.git('DELETE');
    expect([ended.status, ended.body]).toEqual([200, { connected: false, repo: repo.full }]);
    expect(await one.runEffects()).toEqual([]);
    expect(await findHook(repo)).toEqual(hook);
    expect((await one.git('DELETE')).body).toEqual({ connected: false, repo: null, changed: false });
    await other.git('DELETE');
    expect(await other.runEffects()).toEqual([]);
    expect(await findHook(repo)).toBeNull();
  });

  test('is removed together with a purged app and its hook', async () => {
    const env = await linkedEnv();
    const repo = await newRepo();
    await env.git('POST', '', { repo: repo.full });
    await env.runEffects();
    const { owner } = env.people;
    const context = { tenant: { ...env.tenant, role: 'tenant_member' as const }, app: env.app };
    await testMutation(shared.database.db, owner, (ctx) => deleteApp(ctx), {
      context,
    });
    expect(await findHook(repo)).not.toBeNull();
    const asAdmin = { tenant: env.tenant, app: { ...env.app, record: 'deleted' as const } };
    const options = { context: asAdmin, rows: shared.database.rows };
    await testMutation(shared.database.db, env.people.admin, (ctx) => purgeApp(ctx), options);
    expect(await env.runEffects()).toEqual([]);
    expect(await findHook(repo)).toBeNull();
  });
});

describe('a connection started in a browser', () => {
  test('is completed once, by the user who started it', async () => {
    const env = await linkedEnv();
    const repo = await newRepo();
    const { status, body } = await env.git('POST', '/begin', { repo: repo.full, branch: 'dev' });
    expect([status, body.install_url]).toEqual([
      201,
      expect.stringContaining(encodeURIComponent(body.state)),
    ]);
    const { state } = body;
    for (const by of [env.people.coOwner, env.people.admin]) {
      const refused = await env.call('POST', '/git-host/complete', { state }, by);
      expect([refused.status, refused.body.code]).toEqual([404, 'not_found']);
    }
    const done = await env.call('POST', '/git-host/complete', { state });
    expect([done.status, done.body.repo, done.body.branch]).toEqual([200, repo.full, 'dev']);
    expect((await env.call('POST', '/git-host/complete', { state })).body.code).toBe('not_found');
    expect((await env.git('POST', '/begin', {})).body.code).toBe('already_connected');
  });

  test('needs a repository, expires after 15 minutes and accepts no foreign installation', async () => {
    const env = await linkedEnv();
    const repo = await newRepo();
    const { state } = (await env.git('POST', '/begin', {})).body;
    const complete = (body: object) => env.call('POST', '/git-host/complete', { state, ...body });
    expect((await complete({})).body.code).toBe('validation_failed');
    const foreign = installFor(shared.github.server, {
      login: 'x-org',
      type: 'Organization',
      members: ['octocat'],
    });
    const refused = await complete({ repo: repo.full, installation_id: foreign });
    expect(refused.body.code).toBe('installation_mismatch');
    await sql`update svc.git_connect_states set expires_at = now() where app_id = ${env.app.id}`.execute(
      shared.database.db,
    );
    expect((await complete({ repo: repo.full })).body.code).toBe('not_found');
    expect((await env.call('POST', '/git-host/complete', { state: 'none' })).body.code).toBe('not_found');
  });
});

test('installations and their repositories are listed in pages', async () => {
  const env = await linkedEnv();
  const repo = await newRepo();
  const { body } = await env.call('GET', '/git-host/installations?per_page=200');
  const ours = body.items.find(({ account }: { account: string }) => account === 'octo-org');
  expect(ours).toEqual({
    id: ours.id,
    account: 'octo-org',
    account_kind: 'organization',
    repositories: 'all',
  });
  const repos = async (query: string) =>
    (await env.call('GET', `/git-host/installations/${ours.id}/repositories?${query}`)).body;
  const all = await repos('per_page=150');
  expect(all.items).toHaveLength(all.total);
  expect(all.items).toContainEqual({
    id: repo.id,
    full_name: repo.full,
    private: true,
    default_branch: 'main',
    can_push: true,
    web_url: repo.webUrl,
  });
  const second = await repos('per_page=1&page=2');
  expect([second.items, second.total]).toEqual([[all.items[1]], all.total]);
  const other = await linkedEnv('hubot');
  const hidden = await other.call('GET', `/git-host/installations/${ours.id}/repositories`);
  expect([hidden.status, hidden.body.code]).toEqual([404, 'not_found']);
});

test('an installation must belong to the repository and its owner, and be accessible to the user', () => {
  const of = (id: number, login: string) =>
    ({ id, account: { id: 1, login, kind: 'organization' }, repositories: 'all' }) as const;
  const [mine, theirs] = [of(1, 'Acme'), of(2, 'evil')];
  const base = { owner: 'acme', repoInstallation: mine, requested: undefined, userInstallations: [mine] };
  expect(installationObstacle(base)).toBeNull();
  expect(installationObstacle({ ...base, requested: mine })).toBeNull();
  expect(installationObstacle({ ...base, requested: theirs })).toBe('installation_mismatch');
  expect(installationObstacle({ ...base, requested: of(3, 'acme') })).toBe('installation_mismatch');
  expect(installationObstacle({ ...base, requested: null })).toBe('installation_mismatch');
  expect(installationObstacle({ ...base, repoInstallation: null })).toBe('installation_missing');
  expect(installationObstacle({ ...base, repoInstallation: theirs })).toBe('installation_mismatch');
  expect(installationObstacle({ ...base, userInstallations: [theirs] })).toBe('installation_mismatch');
});
