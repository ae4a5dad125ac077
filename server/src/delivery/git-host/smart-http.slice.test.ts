import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { PatAction } from '@svc/contract/pat-actions.ts';
import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import { userTag } from '../../core/tags.ts';
import { git as runGit } from '../../drivers/git/testing/git-folder.ts';
import { browserHeaders, loginHeaders } from '../../identity/provider/testing.ts';
import { newTenant, newUser } from '../../testing.ts';
import { until } from '../testing.ts';
import { commitFiles, git, hostToken, installationToken, newPat, useGitHost } from './testing.ts';
import { signUserToken } from './tokens.ts';

const env = useGitHost();

async function connectApp(repoId: number, appId: string): Promise<void> {
  await sql`insert into svc.git_connections (app_id, tenant_id, host, repo_id, repo, is_private, branch,
      installation_id, web_url, clone_url, hook_state, connected_by, connected_at)
    values (${appId}, ${env.tenant.id}, ${`${env.host.baseUrl}/git`}, ${repoId}, 'a/b', true, 'main', 1, '', '',
      'ok', ${env.member.userId}, now())`.execute(env.database.db);
}

/** Programs that were started for this env.host. */
/** Each request runs in its own process group. */
const isFirstOfGroup = (pid: string) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[2] === pid;
  } catch {
    return false;
  }
};
const processes = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(
          `GIT_PROJECT_ROOT=${env.host.dataDir}/`,
        );
      } catch {
        return false;
      }
    });

const bytesWritten = (pid: string) => {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1] ?? 0);
  } catch {
    return 0;
  }
};

const line = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text;

describe('git over HTTP', () => {
  test('clone, shallow clone and pull return what was pushed', async () => {
    const repo = await env.newRepoWithCopy();
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const there = env.host.folder('clone-1');
    await git(there, 'clone', '--quiet', repo.url(repo.token), 'all');
    expect(readFileSync(join(there, 'all', 'README.md'), 'utf8')).toBe('# Hello\n');
    const second = await commitFiles(repo.copy, { 'more.txt': 'more' });
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    await git(join(there, 'all'), 'pull', '--quiet', repo.url(repo.token), 'main');
    expect(await git(join(there, 'all'), 'rev-parse', 'HEAD')).toBe(second);
    await git(there, 'clone', '--quiet', '--depth=1', repo.url(repo.token), 'shallow');
    expect(await git(join(there, 'shallow'), 'rev-list', '--count', 'HEAD')).toBe('1');
    // Old clients use protocol version 0.
    await git(there, '-c', 'protocol.version=0', 'clone', '--quiet', repo.url(repo.token), 'old');
    expect(await git(join(there, 'old'), 'rev-list', '--count', 'HEAD')).toBe('2');
  });

  test('a push prints which apps of the user it deploys', async () => {
    const repo = await env.newRepoWithCopy();
    const push = async (...more: string[]) => {
      await commitFiles(repo.copy, { 'n.txt': `${Math.random()}` });
      const { code, stderr: err } = await runGit(repo.copy, [...more, 'push', repo.url(repo.token), 'HEAD']);
      expect(code).toBe(0);
      return err;
    };
    expect(await push()).not.toContain('remote:');
    const others = await newApp(env.database.db, env.tenant, env.admin);
    await connectApp(repo.id, others.id);
    expect(await push()).not.toContain('remote:');
    const app = await newApp(env.database.db, env.tenant, env.member);
    await connectApp(repo.id, app.id);
    const command = `svc deployments list --app ${app.slug}`;
    expect(await push()).toMatch(new RegExp(`remote: main is deployed to .*${command}`));
    await sql`update svc.apps set runtime = 'suspended' where id = ${app.id}`.execute(env.database.db);
    expect(await push()).toContain(`remote: main is not deployed to ${app.slug}: the app is suspended.`);
    await git(repo.copy, 'checkout', '--quiet', '-b', 'other');
    expect(await push()).not.toContain('remote:');
  });

  test('accepts a compressed request body', async () => {
    const repo = await env.newRepoWithCopy();
    for (let n = 0; n < 40; n++) await git(repo.copy, 'commit', '--quiet', '--allow-empty', '-m', `${n}`);
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const there = env.host.folder('gzip');
    await git(there, 'clone', '--quiet', repo.url(repo.token), 'all');
    for (let n = 0; n < 60; n++)
      await git(join(there, 'all'), 'commit', '--quiet', '--allow-empty', '-m', `own ${n}`);
    await commitFiles(repo.copy, { 'new.txt': 'new' });
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const fetched = await runGit(join(there, 'all'), ['fetch', repo.url(repo.token), 'main']);
    expect([fetched.code, fetched.stderr]).toEqual([0, expect.stringContaining('FETCH_HEAD')]);
  });

  test('accepts a rewritten history only with --force', async () => {
    const repo = await env.newRepoWithCopy();
    await commitFiles(repo.copy, { 'a.txt': 'a' });
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    await git(repo.copy, 'reset', '--quiet', '--hard', 'HEAD~1');
    const other = await commitFiles(repo.copy, { 'b.txt': 'b' });
    expect((await runGit(repo.copy, ['push', repo.url(repo.token), 'main'])).code).not.toBe(0);
    await git(repo.copy, 'push', '--quiet', '--force', repo.url(repo.token), 'main');
    expect(await git(repo.copy, 'ls-remote', repo.url(repo.token), 'main')).toStartWith(other);
  });

  test('transfers 20 MB of random data, waiting for a slow client', async () => {
    const repo = await env.newRepoWithCopy();
    const big = randomBytes(20_000_000);
    await commitFiles(repo.copy, { 'big.bin': big });
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const there = env.host.folder('big');
    await git(there, 'clone', '--quiet', repo.url(repo.token), 'all');
    expect(readFileSync(join(there, 'all', 'big.bin')).equals(big)).toBeTrue();
    // A client that requests everything and reads nothing: git must wait, and nothing must be buffered in between.
    const sha = await git(repo.copy, 'rev-parse', 'HEAD');
    const socket = connect(Number(new URL(env.host.baseUrl).port), '127.0.0.1');
    socket.pause();
    const body = `${line(`want ${sha} side-band-64k ofs-delta\n`)}0000${line('done\n')}`;
    socket.write(
      `POST /git/${repo.fullName}.git/git-upload-pack HTTP/1.1\r\nhost: ${new URL(env.host.baseUrl).host}\r\n` +
        `authorization: Bearer ${repo.token}\r\ncontent-type: application/x-git-upload-pack-request\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
    await until(async () => processes().length > 0);
    let [written, unchanged] = [0, 0];
    await until(async () => {
      const most = Math.max(...processes().map(bytesWritten));
      unchanged = most === written && most > 200_000 ? unchanged + 1 : 0;
      written = most;
      return unchanged > 50;
    });
    expect(written).toBeLessThan(15_000_000);
    let taken = 0;
    socket.on('data', (piece) => {
      taken += piece.length;
    });
    socket.resume();
    await until(async () => taken > 20_000_000);
    socket.destroy();
    await until(async () => processes().length === 0);
  });

  test('the first branch pushed becomes the default branch', async () => {
    const repo = await env.newRepoWithCopy();
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main:refs/heads/trunk');
    const there = env.host.folder('trunk');
    await git(there, 'clone', '--quiet', repo.url(repo.token), 'all');
    expect(await git(join(there, 'all'), 'branch', '--show-current')).toBe('trunk');
    const { body } = await env.host.call(repo.token, 'GET', `/repos/${repo.fullName}`);
    expect(body.default_branch).toBe('trunk');
  });

  test('rejects broken objects', async () => {
    const repo = await env.newRepoWithCopy();
    await Bun.write(join(repo.copy, 'tree'), '');
    const tree = await git(repo.copy, 'rev-parse', 'HEAD^{tree}');
    await Bun.write(join(repo.copy, 'bad'), `tree ${tree}\nauthor A <a@b> 0 +0000\n\nno committer\n`);
    const bad = await git(repo.copy, 'hash-object', '-t', 'commit', '-w', '--literally', 'bad');
    await Bun.write(join(repo.copy, '.git', 'refs', 'heads', 'bad'), `${bad}\n`);
    const pushed = await runGit(repo.copy, ['push', repo.url(repo.token), 'bad']);
    expect([pushed.code, pushed.stderr]).toEqual([1, expect.stringMatching(/missingCommitter|fsck error/)]);
  });
});

describe('a client that disconnects', () => {
  test('ends its git process; requests over the limit are rejected until then', async () => {
    const repo = await env.newRepoWithCopy();
    const { port, host: name } = new URL(env.host.baseUrl);
    // Pushes that have started and then stall.
    const stalled = Array.from({ length: 6 }, () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(
        `POST /git/${repo.fullName}.git/git-receive-pack HTTP/1.1\r\nhost: ${name}\r\n` +
          `authorization: Bearer ${repo.token}\r\ncontent-type: application/x-git-receive-pack-request\r\n` +
          'transfer-encoding: chunked\r\n\r\n2\r\n00\r\n',
      );
      return socket;
    });
    const address = `${env.host.baseUrl}/git/${repo.fullName}.git/info/refs?service=git-upload-pack`;
    const ask = () => fetch(address, { headers: { authorization: `Bearer ${repo.token}` } });
    // Wait for all of them: an earlier request would take one of the slots.
    await until(async () => processes().filter(isFirstOfGroup).length === 6);
    const refused = await ask();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    // Deployments have their own slots.
    const own = await installationToken(env.host, env.tenant.id);
    const fetched = await fetch(address, { headers: { authorization: `Bearer ${own}` } });
    expect([fetched.status, (await fetched.bytes()).length > 0]).toEqual([200, true]);
    for (const socket of stalled) socket.destroy();
    await until(async () => processes().length === 0);
    expect((await ask()).status).toBe(200);
  });
});

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
    expect(await answer.text()).toContain('svc pats create --actions code');

    const [app, other] = [
      await newApp(env.database.db, env.tenant, env.member),
      await newApp(env.database.db, env.tenant, env.member),
    ];
    await connectApp(repo.id, app.id);
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
    await connectApp(repo.id, app.id);
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

describe('URLs', () => {
  const ask = (path: string, init: RequestInit = {}) => fetch(`${env.host.baseUrl}${path}`, init);

  test('repository files are not served, and other methods are rejected', async () => {
    const repo = await env.newRepoWithCopy();
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const headers = { authorization: `Bearer ${repo.token}` };
    const base = `/git/${repo.fullName}.git`;
    for (const path of ['/config', '/objects/info/packs', '/description', '/info/refs', '/packed-refs', '/'])
      expect([path, (await ask(base + path, { headers })).status]).toEqual([path, 404]);
    expect(await (await ask(`${base}/HEAD`, { headers })).text()).toBe('ref: refs/heads/main\n');
    expect((await ask(`${base}/git-upload-pack`, { headers })).status).toBe(405);
    expect((await ask(`${base}/git-upload-pack`, { headers, method: 'POST', body: 'x' })).status).toBe(415);
  });

  test('the browser URL of a repository shows a page to users with access', async () => {
    const repo = await env.newRepoWithCopy();
    const visit = (headers: Record<string, string>) =>
      ask(`/git/${repo.fullName}`, { headers, redirect: 'manual' });
    const page = await visit(await browserHeaders(env.database, env.member));
    expect(await page.text()).toContain(`git clone ${env.host.baseUrl}/git/${repo.fullName}.git`);
    expect((await visit(await browserHeaders(env.database, env.admin))).status).toBe(404);
    const nobody = await visit({});
    expect([nobody.status, nobody.headers.get('location')]).toEqual([
      303,
      `/login?return_to=${encodeURIComponent(`/git/${repo.fullName}`)}`,
    ]);
  });

  test('hostile names are rejected, and never become a path or an argument', async () => {
    const repo = await env.newRepoWithCopy();
    const token = repo.token;
    const before = readdirSync(join(env.host.dataDir, 'git')).sort();
    const { slug } = env.tenant;
    const folder = before[0] ?? '';
    for (const name of hostileNames(folder)) {
      for (const path of [
        `/git/${slug}/${name}.git/info/refs?service=git-upload-pack`,
        `/git/${name}/repo-1.git/info/refs?service=git-receive-pack`,
        `/git/${slug}/repo-1.git/info/refs?service=${name}`,
        `/git/api/v3/repos/${slug}/${name}`,
        `/git/api/v3/repos/${name}/repo-1`,
        `/git/api/v3/repos/${repo.fullName}/commits/${name}`,
        `/git/api/v3/repos/${repo.fullName}/git/trees/${name}`,
        `/git/api/v3/repos/${repo.fullName}/contents/${name}`,
        `/git/api/v3/repos/${repo.fullName}/branches/${name}`,
      ]) {
        const { status } = await ask(path, { headers: { authorization: `Bearer ${token}` } });
        if (![400, 401, 404, 405, 409, 422].includes(status)) expect([path, status]).toEqual([path, 404]);
      }
      const made = await env.host.call(token, 'POST', `/orgs/${slug}/repos`, { name: decoded(name) });
      expect([name, made.status]).toEqual([name, 422]);
    }
    expect(readdirSync(join(env.host.dataDir, 'git')).sort()).toEqual(before);
    expect(existsSync(join(env.host.dataDir, 'pwned'))).toBeFalse();
  });
});

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function hostileNames(folder: string): string[] {
  return [
    '..',
    '.',
    '%2e%2e',
    '%2e',
    '..%2f..',
    '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    '..%5c..',
    '....%2f%2f',
    'a;touch%20pwned',
    'a%26touch%20pwned',
    '$(touch%20pwned)',
    '%60touch%20pwned%60',
    'a|touch%20pwned',
    'a%0atouch%20pwned',
    'a%0d%0aX-Header:%20y',
    'a%00b',
    '%00',
    'a%20b',
    'a%09b',
    '%7f',
    'a%3eb',
    'a%3cb',
    '--upload-pack=touch%20pwned',
    '--help',
    '-c',
    '-u',
    '--exec=x',
    '-',
    '--',
    '--output=%2ftmp%2fpwned',
    '.git%2fconfig',
    '.git',
    'a.git',
    'a.lock',
    'x.wiki',
    '%2fetc%2fpasswd',
    '%2f%2fetc',
    'C:%5cwindows',
    '~root',
    '~%2f',
    '*',
    '%3f',
    '%5ba%5d',
    'a%7b1,2%7d',
    '!x',
    '%23',
    'a%25',
    '%e0%a4%a',
    '%ff',
    'ä',
    '%F0%9F%98%80',
    `${folder}%2fconfig`,
    `%2e%2e%2f${folder}`,
    `a%2fb`,
    'HEAD%5e%7bcommit%7d',
    'main~1',
    'main%40%7b1%7d',
    ':%2fFirst',
    ':(top)',
    'refs%2fheads%2f..%2f..%2fconfig',
    'a'.repeat(300),
    "'%20or%201=1--",
    'file:%2f%2f%2fetc',
    'ext::sh%20-c%20touch%20pwned',
  ];
}
