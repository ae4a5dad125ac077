import { describe, expect, test } from 'bun:test';
import { createPrivateKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createAppAuth } from '@octokit/auth-app';
import { Octokit } from '@octokit/rest';
import { SignJWT } from 'jose';
import { sql } from 'kysely';
import { loginHeaders } from '../../identity/provider/testing.ts';
import { newTenant, newUser } from '../../testing.ts';
import { removeRepositoryFolder } from './repositories.ts';
import { commitFiles, git, hostToken, newPat, newWorkingCopy, remoteUrl, useGitHost } from './testing.ts';

const env = useGitHost();

const octokitAs = (auth: string) => new Octokit({ baseUrl: `${env.host.baseUrl}/git/api/v3`, auth });

async function appJwt(claims: Record<string, unknown> = {}, at = Date.now()): Promise<string> {
  const app = env.host.deps.app.current();
  const seconds = Math.floor(at / 1000);
  return new SignJWT({ iss: String(app.appId), iat: seconds - 60, exp: seconds + 540, ...claims })
    .setProtectedHeader({ alg: 'RS256' })
    .sign(createPrivateKey(app.privateKey));
}

async function installationId(slug: string): Promise<number> {
  return (await env.host.call(await appJwt(), 'GET', `/orgs/${slug}/installation`)).body.id;
}

async function installationToken(body: unknown = {}): Promise<string> {
  const id = await installationId(env.tenant.slug);
  const answer = await env.host.call(await appJwt(), 'POST', `/app/installations/${id}/access_tokens`, body);
  expect(answer.status).toBe(201);
  return answer.body.token;
}

describe('users', () => {
  test('have an account with a unique login made from their email address', async () => {
    const { data } = await octokitAs(env.token).rest.users.getAuthenticated();
    expect(data).toMatchObject({ type: 'User', email: env.member.email });
    expect(data.login).toMatch(/^[a-z0-9-]+$/);
    const twins = [await newUser(env.database.db, null), await newUser(env.database.db, null)];
    for (const [at, twin] of twins.entries())
      await sql`update svc.users set email = ${`same.name@host-${at}.test`} where id = ${twin.userId}`.execute(
        env.database.db,
      );
    const logins = [];
    for (const twin of twins)
      logins.push((await env.host.call(await hostToken(env.database, twin), 'GET', '/user')).body.login);
    expect(logins).toEqual(['same-name', 'same-name-2']);
  });

  test('see their tenants as installations, with the repositories they can access', async () => {
    const someone = await newTenant(env.database.db);
    const theirs = await hostToken(env.database, someone.member);
    const octokit = octokitAs(theirs);
    const { data } = await octokit.rest.apps.listInstallationsForAuthenticatedUser();
    expect(data.total_count).toBe(1);
    const id = data.installations[0]!.id;
    expect(data.installations[0]!.account).toMatchObject({
      login: someone.tenant.slug,
      type: 'Organization',
    });
    for (let n = 1; n <= 5; n++)
      await octokit.rest.repos.createInOrg({ org: someone.tenant.slug, name: `r${n}`, private: n < 5 });
    const all = await octokit.paginate(octokit.rest.apps.listInstallationReposForAuthenticatedUser, {
      installation_id: id,
      per_page: 2,
    });
    expect(all.map(({ name }) => name)).toEqual(['r1', 'r2', 'r3', 'r4', 'r5']);
    const page = await env.host.call(
      theirs,
      'GET',
      `/user/installations/${id}/repositories?per_page=2&page=2`,
    );
    expect(page.body).toMatchObject({ total_count: 5, repositories: [{ name: 'r3' }, { name: 'r4' }] });
    expect(page.headers.get('link')).toContain('per_page=2&page=3>; rel="next"');
    // A colleague sees repositories that are not private, and cannot push.
    const colleague = await hostToken(env.database, someone.admin);
    const seen = await env.host.call(colleague, 'GET', `/user/installations/${id}/repositories`);
    expect(seen.body.repositories).toMatchObject([{ name: 'r5', permissions: { pull: true, push: false } }]);
    expect((await env.host.call(env.token, 'GET', `/user/installations/${id}/repositories`)).status).toBe(
      404,
    );
  });
});

describe('credentials', () => {
  test('are rejected if unknown or a personal access token; a platform login is accepted', async () => {
    const pat = await newPat(env.database, env.tenant, env.member, {
      actions: ['read', 'write', 'code', 'deploy'],
    });
    for (const bad of ['', 'x', pat, `svcgu_${'0'.repeat(48)}`, 'a'.repeat(3000)]) {
      const { status, body } = await env.host.call(bad, 'GET', '/user');
      expect([status, body.status, typeof body.documentation_url]).toEqual([401, '401', 'string']);
    }
    expect((await env.host.call('x', 'GET', '/user')).body.message).toBe('Bad credentials');
    // In the platform's own header the error has the platform's format.
    const withKey = (key: string) =>
      fetch(`${env.host.baseUrl}/git/api/v3/user`, { headers: { 'x-api-key': key } });
    const refused = await withKey(pat);
    expect([refused.status, await refused.json()]).toEqual([
      403,
      expect.objectContaining({ code: 'login_required', request_id: refused.headers.get('x-request-id') }),
    ]);
    expect((await withKey('x')).status).toBe(401);
    const login = (await loginHeaders(env.database, env.member)).authorization.slice('Bearer '.length);
    expect((await env.host.call(login, 'GET', '/user')).body.email).toBe(env.member.email);
  });

  test('of the app are JWTs signed with its key, valid for at most ten minutes', async () => {
    const { clientId, slug } = env.host.deps.app.current();
    for (const iss of [1, '1', clientId])
      expect((await env.host.call(await appJwt({ iss }), 'GET', '/app')).body).toMatchObject({ slug, id: 1 });
    const seconds = Math.floor(Date.now() / 1000);
    for (const claims of [
      { iss: '2' },
      { iss: undefined },
      { exp: seconds - 120, iat: seconds - 600 },
      { exp: seconds + 3600 },
      { exp: undefined },
    ])
      expect([claims, (await env.host.call(await appJwt(claims), 'GET', '/app')).status]).toEqual([
        claims,
        401,
      ]);
    const unsigned = `${btoa('{"alg":"none"}').replace(/=/g, '')}.${btoa('{"iss":1}').replace(/=/g, '')}.x`;
    expect((await env.host.call(unsigned, 'GET', '/app')).status).toBe(401);
    const { publicKey: _, ...other } = await crypto.subtle.generateKey(
      {
        name: 'RSASSA-PKCS1-v1_5',
        modulusLength: 2048,
        publicExponent: new Uint8Array([1, 0, 1]),
        hash: 'SHA-256',
      },
      true,
      ['sign', 'verify'],
    );
    const forged = await new SignJWT({ iss: '1', iat: seconds, exp: seconds + 60 })
      .setProtectedHeader({ alg: 'RS256' })
      .sign(other.privateKey);
    expect((await env.host.call(forged, 'GET', '/app')).status).toBe(401);
  });

  test('of an installation work with Octokit, for repositories of its tenant only', async () => {
    const app = env.host.deps.app.current();
    const id = await installationId(env.tenant.slug);
    const auth = createAppAuth({
      appId: app.appId,
      privateKey: app.privateKey,
      request: octokitAs('').request,
    });
    const { token: installed } = await auth({ type: 'installation', installationId: id });
    const repo = await env.newRepo();
    const { data } = await octokitAs(installed).rest.repos.get({ owner: repo.owner, repo: repo.name });
    expect(data).toMatchObject({ full_name: repo.fullName, permissions: { push: true } });
    const elsewhere = await newTenant(env.database.db);
    const theirs = await hostToken(env.database, elsewhere.member);
    await env.host.call(theirs, 'POST', `/orgs/${elsewhere.tenant.slug}/repos`, { name: 'r' });
    expect((await env.host.call(installed, 'GET', `/repos/${elsewhere.tenant.slug}/r`)).status).toBe(404);
    expect((await env.host.call(installed, 'GET', '/user')).status).toBe(403);
    const copy = await newWorkingCopy(env.host, 'by-installation');
    await git(copy, 'push', '--quiet', remoteUrl(env.host, repo.fullName, installed), 'main');
  });

  test('of an installation can be limited to some repositories or to reading', async () => {
    const [one, other] = [await env.newRepo(), await env.newRepo()];
    const limited = await installationToken({ repositories: [one.name] });
    expect((await env.host.call(limited, 'GET', `/repos/${one.fullName}`)).status).toBe(200);
    expect((await env.host.call(limited, 'GET', `/repos/${other.fullName}`)).status).toBe(404);
    const reading = await installationToken({ permissions: { contents: 'read' } });
    const { body } = await env.host.call(reading, 'GET', `/repos/${one.fullName}`);
    expect(body.permissions).toMatchObject({ pull: true, push: false });
    expect((await env.host.call(reading, 'DELETE', `/repos/${one.fullName}`)).status).toBe(403);
    const id = await installationId(env.tenant.slug);
    for (const bad of [
      { repositories: ['none'] },
      { repositories: ['../x'] },
      { permissions: { contents: 'admin' } },
      { permissions: { secrets: 'write' } },
    ]) {
      const answer = await env.host.call(
        await appJwt(),
        'POST',
        `/app/installations/${id}/access_tokens`,
        bad,
      );
      expect([bad, answer.status]).toEqual([bad, 422]);
    }
    expect(
      (await env.host.call(env.token, 'POST', `/app/installations/${id}/access_tokens`, {})).status,
    ).toBe(403);
  });
});

test('only the app can find an installation, by repository, owner or id', async () => {
  const repo = await env.newRepo();
  const jwt = await appJwt();
  const id = await installationId(repo.owner);
  for (const path of [
    `/repos/${repo.fullName}/installation`,
    `/orgs/${repo.owner}/installation`,
    `/users/${repo.owner}/installation`,
    `/app/installations/${id}`,
  ]) {
    const { status, body } = await env.host.call(jwt, 'GET', path);
    expect([path, status, body.id, body.account?.login]).toEqual([path, 200, id, repo.owner]);
    expect((await env.host.call(env.token, 'GET', path)).status).toBe(403);
  }
  for (const path of [
    '/repos/none/none/installation',
    '/orgs/none/installation',
    '/app/installations/999999',
  ])
    expect((await env.host.call(jwt, 'GET', path)).status).toBe(404);
});

describe('repositories', () => {
  test('can be created, read and deleted together with their folders', async () => {
    const repo = await env.newRepo({ description: 'For a test' });
    expect(repo.body).toMatchObject({
      full_name: repo.fullName,
      private: true,
      description: 'For a test',
      default_branch: 'main',
      size: 0,
      clone_url: `${env.host.baseUrl}/git/${repo.fullName}.git`,
      permissions: { admin: true, push: true, pull: true },
    });
    const { rows } = await sql<{ folder: string }>`
      select folder from svc.git_host_repos where id = ${repo.body.id}`.execute(env.database.db);
    const folder = env.host.deps.folders.path(rows[0]!.folder);
    expect(existsSync(folder)).toBeTrue();
    expect((await env.host.call(env.token, 'DELETE', `/repos/${repo.fullName}`)).status).toBe(204);
    expect((await env.host.call(env.token, 'GET', `/repos/${repo.fullName}`)).status).toBe(404);
    const queued = await sql<{ payload: Record<string, unknown> }>`
      select payload from svc.outbox where topic = 'gitHost.removeFolder'
        and payload ->> 'folder' = ${rows[0]!.folder}`.execute(env.database.db);
    for (let times = 0; times < 2; times++)
      await removeRepositoryFolder(env.host.deps.folders)(queued.rows[0]!.payload);
    expect(existsSync(folder)).toBeFalse();
    const { rows: audited } = await sql<{ action: string; actor_id: string }>`
      select action, actor_id from svc.audit_entries
      where tenant_id = ${env.tenant.id} and target_name = ${repo.fullName} order by seq`.execute(
      env.database.db,
    );
    expect(audited).toEqual(
      ['gitHost.createRepository', 'gitHost.deleteRepository'].map((action) => ({
        action,
        actor_id: env.member.userId,
      })),
    );
  });

  test('names are unique in a tenant regardless of case', async () => {
    const repo = await env.newRepo();
    const admins = await hostToken(env.database, env.admin);
    for (const name of [repo.name, repo.name.toUpperCase()]) {
      const { status, body } = await env.host.call(admins, 'POST', `/orgs/${repo.owner}/repos`, { name });
      expect([status, body.errors[0].message]).toEqual([422, 'name already exists on this account']);
    }
    const wanted = { name: 'raced' };
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => env.host.call(env.token, 'POST', `/orgs/${repo.owner}/repos`, wanted)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422, 422, 422]);
  });

  test('can be created only by members of the tenant', async () => {
    const outsider = await hostToken(env.database, (await newTenant(env.database.db)).member);
    const path = `/orgs/${env.tenant.slug}/repos`;
    expect((await env.host.call(outsider, 'POST', path, { name: 'mine' })).status).toBe(404);
    expect((await env.host.call(await appJwt(), 'POST', path, { name: 'mine' })).status).toBe(403);
    expect((await env.host.call(env.token, 'POST', path, {})).status).toBe(422);
    expect(
      (await env.host.call(env.token, 'POST', '/user/repos', { name: 'in-my-only-tenant' })).body.owner.login,
    ).toBe(env.tenant.slug);
  });
});

describe('repository contents', () => {
  test('an empty repository is reported as empty', async () => {
    const repo = await env.newRepo();
    const at = `/repos/${repo.fullName}`;
    expect((await env.host.call(env.token, 'GET', `${at}/commits/main`)).status).toBe(409);
    expect((await env.host.call(env.token, 'GET', `${at}/git/trees/main`)).status).toBe(409);
    expect((await env.host.call(env.token, 'GET', `${at}/branches/main`)).body.message).toBe(
      'Branch not found',
    );
    expect((await env.host.call(env.token, 'GET', `${at}/contents/x`)).body.message).toBe(
      'This repository is empty.',
    );
  });

  test('commits, trees, branches and files are returned as pushed', async () => {
    const repo = await env.newRepo();
    const named = { owner: repo.owner, repo: repo.name };
    const copy = await newWorkingCopy(env.host, 'contents');
    const sha = await commitFiles(
      copy,
      { 'a b/ü.txt': 'grüß\n', '-x': 'dash', 'big.bin': new Uint8Array(1_500_000).fill(7) },
      'Second\n\nwith a body',
    );
    await git(copy, 'tag', '-a', 'v1', '-m', 'tagged');
    await git(copy, 'branch', 'feature/x');
    await git(
      copy,
      'push',
      '--quiet',
      remoteUrl(env.host, repo.fullName, env.token),
      'main',
      'feature/x',
      'v1',
    );
    const { rest } = octokitAs(env.token);
    for (const ref of ['main', 'feature/x', 'v1', sha, sha.slice(0, 10)]) {
      const { data } = await rest.repos.getCommit({ ...named, ref });
      expect([ref, data.sha, data.commit.message]).toEqual([ref, sha, 'Second\n\nwith a body']);
    }
    const { data: commit } = await rest.repos.getCommit({ ...named, ref: 'main' });
    expect(commit.commit.author).toMatchObject({ name: 'Mona', email: 'mona@example.test' });
    const { data: tree } = await rest.git.getTree({
      ...named,
      tree_sha: commit.commit.tree.sha,
      recursive: '1',
    });
    expect(tree.truncated).toBeFalse();
    const entries = tree.tree.map(({ path, type }) => `${type} ${path}`).join(', ');
    expect(entries).toBe(
      'blob -x, blob README.md, tree a b, blob a b/ü.txt, blob big.bin, tree src, blob src/app.ts',
    );
    expect((await rest.git.getTree({ ...named, tree_sha: 'main' })).data.tree).toHaveLength(5);
    expect((await rest.repos.getBranch({ ...named, branch: 'feature/x' })).data.commit.sha).toBe(sha);
    const { data: file } = await rest.repos.getContent({ ...named, path: 'a b/ü.txt', ref: 'main' });
    expect(Buffer.from((file as { content: string }).content, 'base64').toString()).toBe('grüß\n');
    const { data: raw } = await rest.repos.getContent({ ...named, path: '-x', mediaType: { format: 'raw' } });
    expect(String(raw)).toBe('dash');
    const { data: big } = await rest.repos.getContent({ ...named, path: 'big.bin' });
    expect(big).toMatchObject({ size: 1_500_000, encoding: 'none', content: '' });
    const { data: folder } = await rest.repos.getContent({ ...named, path: '' });
    expect((folder as { path: string }[]).map(({ path }) => path)).toContain('a b');
    for (const path of [`commits/none`, 'commits/0000000000000000000000000000000000000000'])
      expect((await env.host.call(env.token, 'GET', `/repos/${repo.fullName}/${path}`)).status).toBe(422);
    for (const path of ['contents/none', 'contents/src/app.ts/x', 'branches/v1', 'git/trees/none'])
      expect([
        path,
        (await env.host.call(env.token, 'GET', `/repos/${repo.fullName}/${path}`)).status,
      ]).toEqual([path, 404]);
    const { body } = await env.host.call(env.token, 'GET', `/repos/${repo.fullName}`);
    expect(body.size).toBeGreaterThan(0);
  });
});

test('unknown paths and invalid JSON get errors in the format of GitHub', async () => {
  expect((await env.host.call(env.token, 'GET', '/nothing')).body).toMatchObject({
    message: 'Not Found',
    status: '404',
  });
  const answer = await fetch(`${env.host.baseUrl}/git/api/v3/orgs/${env.tenant.slug}/repos`, {
    method: 'POST',
    headers: { authorization: `token ${env.token}`, 'content-type': 'application/json' },
    body: '{',
  });
  expect([answer.status, ((await answer.json()) as { message: string }).message]).toEqual([
    400,
    'Problems parsing JSON',
  ]);
  expect((await (await fetch(`${env.host.baseUrl}/git/api/v3/rate_limit`)).json()) as object).toHaveProperty(
    'rate',
  );
  expect((await fetch(`${env.host.baseUrl}/git/api/v3/meta`)).status).toBe(200);
});
