import { describe, expect, test } from 'bun:test';
import type { PatAction } from '@svc/contract/pat-actions.ts';
import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import { userTag } from '../../core/tags.ts';
import { git as runGit } from '../../drivers/git/testing/git-folder.ts';
import { loginHeaders } from '../../identity/provider/testing.ts';
import { newTenant, newUser } from '../../testing.ts';
import { until } from '../testing.ts';
import { commitFiles, connectApp, git, hostToken, newPat, useGitHost } from './testing.ts';
import { signUserToken } from './tokens.ts';

const env = useGitHost();

describe('access', () => {
  test('needs a valid credential: otherwise 401, whether or not the repository exists', async () => {
    const repo = await env.newRepoWithCopy();
    for (const path of [repo.fullName, `${env.tenant.slug}/none`, 'none/none']) {
      for (const headers of [
        {},
        { authorization: 'Bearer nothing' },
        { authorization: 'Basic !!' },
        { authorization: `Basic ${btoa('x:svcgu_'.padEnd(60, '0'))}` },
        { authorization: `Basic ${btoa(`x:svcpat_${'0'.repeat(36)}`)}` },
        { authorization: `Bearer ${'a'.repeat(600)}` },
      ]) {
        const address = `${env.host.baseUrl}/git/${path}.git/info/refs?service=git-upload-pack`;
        const answer = await fetch(address, { headers: headers as Record<string, string> });
        expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Basic realm="svc"']);
      }
    }
  });

  test('accepts a platform login as password or bearer token', async () => {
    const repo = await env.newRepoWithCopy();
    const login = (await loginHeaders(env.database, env.member)).authorization.slice('Bearer '.length);
    await git(repo.copy, 'push', '--quiet', repo.url(login), 'main');
    const address = `${env.host.baseUrl}/git/${repo.fullName}.git/info/refs?service=git-upload-pack`;
    const answer = await fetch(address, { headers: { authorization: `Bearer ${login}` } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/x-git-upload-pack-advertisement');
  });

  test('needs the action code in a personal access token, to fetch as well as to push', async () => {
    const repo = await env.newRepoWithCopy();
    const pat = (actions: PatAction[], apps: string[] = []) =>
      newPat(env.database, env.tenant, env.member, { actions, apps });
    await git(repo.copy, 'push', '--quiet', repo.url(await pat(['code'])), 'main');
    expect(await git(repo.copy, 'ls-remote', repo.url(await pat(['code'])))).toContain('refs/heads/main');
    await commitFiles(repo.copy, { 'x.txt': 'x' });
    const others = await pat(['read', 'write', 'deploy']);
    for (const args of [
      ['ls-remote', repo.url(others)],
      ['push', repo.url(others), 'main'],
    ]) {
      const refused = await runGit(repo.copy, args);
      expect([refused.code, refused.stderr]).toEqual([128, expect.stringContaining('403')]);
    }
    const address = `${env.host.baseUrl}/git/${repo.fullName}.git/info/refs?service=git-upload-pack`;
    const answer = await fetch(address, { headers: { authorization: `Bearer ${others}` } });
    expect(await answer.text()).toContain('svc pats create --name git --actions code');

    const [app, other] = [
      await newApp(env.database.db, env.tenant, env.member),
      await newApp(env.database.db, env.tenant, env.member),
    ];
    await connectApp(env, repo.id, app.id);
    const forOther = await pat(['code'], [other.slug]);
    expect((await runGit(repo.copy, ['ls-remote', repo.url(forOther)])).stderr).toContain('not found');
    await git(repo.copy, 'push', '--quiet', repo.url(await pat(['code'], [app.slug])), 'main');
  });

  test('rejects tokens of another tenant, even of the same user', async () => {
    const elsewhere = await newTenant(env.database.db);
    await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
      values (${elsewhere.tenant.id}, ${env.member.userId}, 'tenant_member', now())`.execute(env.database.db);
    const repo = await env.newRepoWithCopy();
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const pat = await newPat(env.database, elsewhere.tenant, env.member, { actions: ['code'] });
    expect((await runGit(repo.copy, ['ls-remote', repo.url(pat)])).stderr).toContain('not found');
    const outsider = await hostToken(env.database, elsewhere.member);
    expect((await runGit(repo.copy, ['ls-remote', repo.url(outsider)])).stderr).toContain('not found');
  });

  test('to a private repository is for its creator and the owners of its apps, not for admins', async () => {
    const repo = await env.newRepoWithCopy();
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const colleague = await newUser(env.database.db, env.tenant.id);
    const [theirs, admins] = [
      await hostToken(env.database, colleague),
      await hostToken(env.database, env.admin),
    ];
    for (const token of [theirs, admins])
      expect((await runGit(repo.copy, ['ls-remote', repo.url(token)])).stderr).toContain('not found');
    const app = await newApp(env.database.db, env.tenant, env.member, { coOwners: [colleague] });
    await connectApp(env, repo.id, app.id);
    await commitFiles(repo.copy, { 'co.txt': 'co' });
    await git(repo.copy, 'push', '--quiet', repo.url(theirs), 'main');
    expect((await runGit(repo.copy, ['ls-remote', repo.url(admins)])).stderr).toContain('not found');
  });

  test('to other repositories: the tenant can read, the creator and app owners can write', async () => {
    const repo = await env.newRepoWithCopy({ private: false });
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const colleague = await hostToken(env.database, await newUser(env.database.db, env.tenant.id));
    expect(await git(repo.copy, 'ls-remote', repo.url(colleague))).toContain('refs/heads/main');
    await commitFiles(repo.copy, { 'x.txt': 'x' });
    expect((await runGit(repo.copy, ['push', repo.url(colleague), 'main'])).stderr).toContain('403');
  });

  test('ends when a user leaves the tenant or is suspended', async () => {
    const person = await newUser(env.database.db, env.tenant.id);
    const token = await hostToken(env.database, person);
    const { status } = await env.host.call(token, 'POST', `/orgs/${env.tenant.slug}/repos`, { name: 'left' });
    expect(status).toBe(201);
    const address = `${env.host.baseUrl}/git/${env.tenant.slug}/left.git/info/refs?service=git-upload-pack`;
    const ask = async () => (await fetch(address, { headers: { authorization: `Bearer ${token}` } })).status;
    await sql`update svc.users set status = 'suspended' where id = ${person.userId}`.execute(env.database.db);
    expect(await ask()).toBe(401);
    await sql`update svc.users set status = 'active' where id = ${person.userId}`.execute(env.database.db);
    await sql`delete from svc.memberships where user_id = ${person.userId}`.execute(env.database.db);
    await sql`select pg_notify('svc_changed', ${userTag(person.userId)})`.execute(env.database.db);
    await until(async () => (await ask()) === 404);
  });

  test('rejects expired tokens', async () => {
    const repo = await env.newRepoWithCopy();
    const { token } = await signUserToken(env.database.db, {
      userId: env.member.userId,
      now: new Date(Date.now() - 8 * 3600_000 - 1000),
    });
    expect((await runGit(repo.copy, ['ls-remote', repo.url(token)])).stderr).toContain(
      'Authentication failed',
    );
  });
});
