import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { sql } from 'kysely';
import { newApp } from '../apps/testing.ts';
import { userTag } from '../identity/tags.ts';
import { browserOf } from '../identity/testing.ts';
import { newTenant, newUser, type TestDatabase, type TestTenant, testDatabase } from '../testing.ts';
import { issueUserToken } from './issue-user-token.ts';
import {
  commitFiles,
  git,
  hostToken,
  installationToken,
  loginToken,
  newWorkingCopy,
  patOf,
  remoteUrl,
  runGit,
  startTestGitHost,
  type TestGitHost,
  until,
} from './testing.ts';

setDefaultTimeout(60_000);

let database: TestDatabase;
let host: TestGitHost;
let place: TestTenant;

beforeAll(async () => {
  database = await testDatabase();
  host = await startTestGitHost(database);
  place = await newTenant(database.db);
});
afterAll(async () => {
  await host.stop();
  await database.close();
});

let made = 0;

/** A repository of the member's, with a working copy that has one commit. */
async function newRepo(set: { private?: boolean } = {}) {
  const token = await hostToken(database, place.member);
  const name = `repo-${++made}`;
  const { status, body } = await host.call(token, 'POST', `/orgs/${place.tenant.slug}/repos`, {
    name,
    private: set.private ?? true,
  });
  expect(status).toBe(201);
  const copy = await newWorkingCopy(host, `copy-${made}`);
  const fullName = `${place.tenant.slug}/${name}`;
  const url = (password: string) => remoteUrl(host, fullName, password);
  return { token, fullName, copy, url, id: body.id as number };
}

async function connectApp(repoId: number, appId: string): Promise<void> {
  await sql`insert into svc.git_connections (app_id, tenant_id, host, repo_id, repo, is_private, branch,
      installation_id, web_url, clone_url, hook_state, connected_by, connected_at)
    values (${appId}, ${place.tenant.id}, ${`${host.baseUrl}/git`}, ${repoId}, 'a/b', true, 'main', 1, '', '',
      'ok', ${place.member.userId}, now())`.execute(database.db);
}

/** Programs that were started for this host. */
/** Each call is one group of programs. */
const isFirstOfGroup = (pid: string) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[2] === pid;
  } catch {
    return false;
  }
};
const programs = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`GIT_PROJECT_ROOT=${host.dataDir}/`);
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
  test('what is pushed is cloned again, shallow too, and a later push is fetched', async () => {
    const repo = await newRepo();
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const there = host.folder('clone-1');
    await git(there, 'clone', '--quiet', repo.url(repo.token), 'all');
    expect(readFileSync(join(there, 'all', 'README.md'), 'utf8')).toBe('# Hello\n');
    const second = await commitFiles(repo.copy, { 'more.txt': 'more' });
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    await git(join(there, 'all'), 'pull', '--quiet', repo.url(repo.token), 'main');
    expect(await git(join(there, 'all'), 'rev-parse', 'HEAD')).toBe(second);
    await git(there, 'clone', '--quiet', '--depth=1', repo.url(repo.token), 'shallow');
    expect(await git(join(there, 'shallow'), 'rev-list', '--count', 'HEAD')).toBe('1');
    // As clients of before speak.
    await git(there, '-c', 'protocol.version=0', 'clone', '--quiet', repo.url(repo.token), 'old');
    expect(await git(join(there, 'old'), 'rev-list', '--count', 'HEAD')).toBe('2');
  });

  test('a push says where it is deployed, to who owns what it is deployed to', async () => {
    const repo = await newRepo();
    const push = async (...more: string[]) => {
      await commitFiles(repo.copy, { 'n.txt': `${Math.random()}` });
      const { code, err } = await runGit(repo.copy, ...more, 'push', repo.url(repo.token), 'HEAD');
      expect(code).toBe(0);
      return err;
    };
    expect(await push()).not.toContain('remote:');
    const others = await newApp(database.db, place.tenant, place.admin);
    await connectApp(repo.id, others.id);
    expect(await push()).not.toContain('remote:');
    const app = await newApp(database.db, place.tenant, place.member);
    await connectApp(repo.id, app.id);
    const told = `svc deployments list --app ${app.slug}`;
    expect(await push()).toMatch(new RegExp(`remote: main is deployed to .*${told}`));
    await sql`update svc.apps set runtime = 'suspended' where id = ${app.id}`.execute(database.db);
    expect(await push()).toContain(`remote: main is not deployed to ${app.slug}, which is suspended.`);
    await git(repo.copy, 'checkout', '--quiet', '-b', 'other');
    expect(await push()).not.toContain('remote:');
  });

  test('a request that is long enough to be sent compressed is understood', async () => {
    const repo = await newRepo();
    for (let n = 0; n < 40; n++) await git(repo.copy, 'commit', '--quiet', '--allow-empty', '-m', `${n}`);
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const there = host.folder('gzip');
    await git(there, 'clone', '--quiet', repo.url(repo.token), 'all');
    for (let n = 0; n < 60; n++)
      await git(join(there, 'all'), 'commit', '--quiet', '--allow-empty', '-m', `own ${n}`);
    await commitFiles(repo.copy, { 'new.txt': 'new' });
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const fetched = await runGit(join(there, 'all'), 'fetch', repo.url(repo.token), 'main');
    expect([fetched.code, fetched.err]).toEqual([0, expect.stringContaining('FETCH_HEAD')]);
  });

  test('a push that rewrites history is taken when it is forced', async () => {
    const repo = await newRepo();
    await commitFiles(repo.copy, { 'a.txt': 'a' });
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    await git(repo.copy, 'reset', '--quiet', '--hard', 'HEAD~1');
    const other = await commitFiles(repo.copy, { 'b.txt': 'b' });
    expect((await runGit(repo.copy, 'push', repo.url(repo.token), 'main')).code).not.toBe(0);
    await git(repo.copy, 'push', '--quiet', '--force', repo.url(repo.token), 'main');
    expect(await git(repo.copy, 'ls-remote', repo.url(repo.token), 'main')).toStartWith(other);
  });

  test('20 MB that can not be compressed go in and come out, at the pace of who takes them', async () => {
    const repo = await newRepo();
    const big = randomBytes(20_000_000);
    await commitFiles(repo.copy, { 'big.bin': big });
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const there = host.folder('big');
    await git(there, 'clone', '--quiet', repo.url(repo.token), 'all');
    expect(readFileSync(join(there, 'all', 'big.bin')).equals(big)).toBeTrue();
    // Somebody who asks for all of it and takes nothing: then the program waits, and nothing piles up in between.
    const sha = await git(repo.copy, 'rev-parse', 'HEAD');
    const socket = connect(Number(new URL(host.baseUrl).port), '127.0.0.1');
    socket.pause();
    const body = `${line(`want ${sha} side-band-64k ofs-delta\n`)}0000${line('done\n')}`;
    socket.write(
      `POST /git/${repo.fullName}.git/git-upload-pack HTTP/1.1\r\nhost: ${new URL(host.baseUrl).host}\r\n` +
        `authorization: Bearer ${repo.token}\r\ncontent-type: application/x-git-upload-pack-request\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
    await until(async () => programs().length > 0);
    let [written, unchanged] = [0, 0];
    await until(async () => {
      const most = Math.max(...programs().map(bytesWritten));
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
    await until(async () => programs().length === 0);
  });

  test('the first branch that is pushed is the one that a clone begins with', async () => {
    const repo = await newRepo();
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main:refs/heads/trunk');
    const there = host.folder('trunk');
    await git(there, 'clone', '--quiet', repo.url(repo.token), 'all');
    expect(await git(join(there, 'all'), 'branch', '--show-current')).toBe('trunk');
    const { body } = await host.call(repo.token, 'GET', `/repos/${repo.fullName}`);
    expect(body.default_branch).toBe('trunk');
  });

  test('broken objects are not taken', async () => {
    const repo = await newRepo();
    await Bun.write(join(repo.copy, 'tree'), '');
    const tree = await git(repo.copy, 'rev-parse', 'HEAD^{tree}');
    await Bun.write(join(repo.copy, 'bad'), `tree ${tree}\nauthor A <a@b> 0 +0000\n\nno committer\n`);
    const bad = await git(repo.copy, 'hash-object', '-t', 'commit', '-w', '--literally', 'bad');
    await Bun.write(join(repo.copy, '.git', 'refs', 'heads', 'bad'), `${bad}\n`);
    const pushed = await runGit(repo.copy, 'push', repo.url(repo.token), 'bad');
    expect([pushed.code, pushed.err]).toEqual([1, expect.stringMatching(/missingCommitter|fsck error/)]);
  });
});

describe('a client that goes away', () => {
  test('takes its program with it; what is too much at once is refused until then', async () => {
    const repo = await newRepo();
    const { port, host: name } = new URL(host.baseUrl);
    // A push that has begun, and does not go on.
    const stalled = Array.from({ length: 6 }, () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(
        `POST /git/${repo.fullName}.git/git-receive-pack HTTP/1.1\r\nhost: ${name}\r\n` +
          `authorization: Bearer ${repo.token}\r\ncontent-type: application/x-git-receive-pack-request\r\n` +
          'transfer-encoding: chunked\r\n\r\n2\r\n00\r\n',
      );
      return socket;
    });
    const address = `${host.baseUrl}/git/${repo.fullName}.git/info/refs?service=git-upload-pack`;
    const ask = () => fetch(address, { headers: { authorization: `Bearer ${repo.token}` } });
    // All of them first: one who asks meanwhile would take the place of one of them.
    await until(async () => programs().filter(isFirstOfGroup).length === 6);
    const refused = await ask();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    // What is deployed is fetched all the same.
    const own = await installationToken(host, place.tenant.id);
    const fetched = await fetch(address, { headers: { authorization: `Bearer ${own}` } });
    expect([fetched.status, (await fetched.bytes()).length > 0]).toEqual([200, true]);
    for (const socket of stalled) socket.destroy();
    await until(async () => programs().length === 0);
    expect((await ask()).status).toBe(200);
  });
});

describe('who may', () => {
  test('nobody without a good credential: 401, whether or not there is a repository', async () => {
    const repo = await newRepo();
    for (const path of [repo.fullName, `${place.tenant.slug}/none`, 'none/none']) {
      for (const headers of [
        {},
        { authorization: 'Bearer nothing' },
        { authorization: 'Basic !!' },
        { authorization: `Basic ${btoa('x:svcgu_'.padEnd(60, '0'))}` },
        { authorization: `Basic ${btoa(`x:svcpat_${'0'.repeat(36)}`)}` },
        { authorization: `Bearer ${'a'.repeat(600)}` },
      ]) {
        const address = `${host.baseUrl}/git/${path}.git/info/refs?service=git-upload-pack`;
        const answer = await fetch(address, { headers: headers as Record<string, string> });
        expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Basic realm="svc"']);
      }
    }
  });

  test('a login to the platform, as a password or a bearer', async () => {
    const repo = await newRepo();
    const login = await loginToken(database, place.member);
    await git(repo.copy, 'push', '--quiet', repo.url(login), 'main');
    const address = `${host.baseUrl}/git/${repo.fullName}.git/info/refs?service=git-upload-pack`;
    const answer = await fetch(address, { headers: { authorization: `Bearer ${login}` } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/x-git-upload-pack-advertisement');
  });

  test('a personal access token, as far as its scope goes', async () => {
    const repo = await newRepo();
    const pat = (actions: ('read' | 'write')[], apps: string[] = []) =>
      patOf(database, place.tenant, place.member, { actions, apps });
    const both = await pat(['read', 'write']);
    await git(repo.copy, 'push', '--quiet', repo.url(both), 'main');
    const reading = await pat(['read']);
    expect(await git(repo.copy, 'ls-remote', repo.url(reading))).toContain('refs/heads/main');
    await commitFiles(repo.copy, { 'x.txt': 'x' });
    const refused = await runGit(repo.copy, 'push', repo.url(reading), 'main');
    expect([refused.code, refused.err]).toEqual([128, expect.stringContaining('403')]);

    const [app, other] = [
      await newApp(database.db, place.tenant, place.member),
      await newApp(database.db, place.tenant, place.member),
    ];
    await connectApp(repo.id, app.id);
    const forOther = await pat(['read', 'write'], [other.slug]);
    expect((await runGit(repo.copy, 'ls-remote', repo.url(forOther))).err).toContain('not found');
    await git(repo.copy, 'push', '--quiet', repo.url(await pat(['read', 'write'], [app.slug])), 'main');
  });

  test('a token of another tenant is good for nothing here, also of the same person', async () => {
    const elsewhere = await newTenant(database.db);
    await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
      values (${elsewhere.tenant.id}, ${place.member.userId}, 'tenant_member', now())`.execute(database.db);
    const repo = await newRepo();
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const pat = await patOf(database, elsewhere.tenant, place.member, { actions: ['read', 'write'] });
    expect((await runGit(repo.copy, 'ls-remote', repo.url(pat))).err).toContain('not found');
    const outsider = await hostToken(database, elsewhere.member);
    expect((await runGit(repo.copy, 'ls-remote', repo.url(outsider))).err).toContain('not found');
  });

  test('a private repository is for who made it and for owners of its apps; an admin as such is told nothing', async () => {
    const repo = await newRepo();
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const colleague = await newUser(database.db, place.tenant.id);
    const [theirs, admins] = [await hostToken(database, colleague), await hostToken(database, place.admin)];
    for (const token of [theirs, admins])
      expect((await runGit(repo.copy, 'ls-remote', repo.url(token))).err).toContain('not found');
    const app = await newApp(database.db, place.tenant, place.member, { coOwners: [colleague] });
    await connectApp(repo.id, app.id);
    await commitFiles(repo.copy, { 'co.txt': 'co' });
    await git(repo.copy, 'push', '--quiet', repo.url(theirs), 'main');
    expect((await runGit(repo.copy, 'ls-remote', repo.url(admins))).err).toContain('not found');
  });

  test('one that is not private is read by everybody in the tenant and written by its own people', async () => {
    const repo = await newRepo({ private: false });
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const colleague = await hostToken(database, await newUser(database.db, place.tenant.id));
    expect(await git(repo.copy, 'ls-remote', repo.url(colleague))).toContain('refs/heads/main');
    await commitFiles(repo.copy, { 'x.txt': 'x' });
    expect((await runGit(repo.copy, 'push', repo.url(colleague), 'main')).err).toContain('403');
  });

  test('who has left the tenant, or is suspended, reaches nothing any more', async () => {
    const person = await newUser(database.db, place.tenant.id);
    const token = await hostToken(database, person);
    const { status } = await host.call(token, 'POST', `/orgs/${place.tenant.slug}/repos`, { name: 'left' });
    expect(status).toBe(201);
    const address = `${host.baseUrl}/git/${place.tenant.slug}/left.git/info/refs?service=git-upload-pack`;
    const ask = async () => (await fetch(address, { headers: { authorization: `Bearer ${token}` } })).status;
    await sql`update svc.users set status = 'suspended' where id = ${person.userId}`.execute(database.db);
    expect(await ask()).toBe(401);
    await sql`update svc.users set status = 'active' where id = ${person.userId}`.execute(database.db);
    await sql`delete from svc.memberships where user_id = ${person.userId}`.execute(database.db);
    await sql`select pg_notify('svc_changed', ${userTag(person.userId)})`.execute(database.db);
    await until(async () => (await ask()) === 404);
  });

  test('a token that has expired is none', async () => {
    const repo = await newRepo();
    const { token } = await issueUserToken(database.db, {
      userId: place.member.userId,
      now: new Date(Date.now() - 8 * 3600_000 - 1000),
    });
    expect((await runGit(repo.copy, 'ls-remote', repo.url(token))).err).toContain('Authentication failed');
  });
});

describe('addresses', () => {
  const ask = (path: string, init: RequestInit = {}) => fetch(`${host.baseUrl}${path}`, init);

  test('files of a repository are not given out, and other methods are not taken', async () => {
    const repo = await newRepo();
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const headers = { authorization: `Bearer ${repo.token}` };
    const base = `/git/${repo.fullName}.git`;
    for (const path of ['/config', '/objects/info/packs', '/description', '/info/refs', '/packed-refs', '/'])
      expect([path, (await ask(base + path, { headers })).status]).toEqual([path, 404]);
    expect(await (await ask(`${base}/HEAD`, { headers })).text()).toBe('ref: refs/heads/main\n');
    expect((await ask(`${base}/git-upload-pack`, { headers })).status).toBe(405);
    expect((await ask(`${base}/git-upload-pack`, { headers, method: 'POST', body: 'x' })).status).toBe(415);
  });

  test('the address that people are shown has a page, for who may see the repository', async () => {
    const repo = await newRepo();
    const visit = (headers: Record<string, string>) =>
      ask(`/git/${repo.fullName}`, { headers, redirect: 'manual' });
    const page = await visit(await browserOf(database, place.member));
    expect(await page.text()).toContain(`git clone ${host.baseUrl}/git/${repo.fullName}.git`);
    expect((await visit(await browserOf(database, place.admin))).status).toBe(404);
    const nobody = await visit({});
    expect([nobody.status, nobody.headers.get('location')]).toEqual([
      303,
      `/login?return_to=${encodeURIComponent(`/git/${repo.fullName}`)}`,
    ]);
  });

  test('hostile names name nothing, and reach neither a path nor a program', async () => {
    const repo = await newRepo();
    const token = repo.token;
    const before = readdirSync(join(host.dataDir, 'git')).sort();
    const { slug } = place.tenant;
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
      const made = await host.call(token, 'POST', `/orgs/${slug}/repos`, { name: decoded(name) });
      expect([name, made.status]).toEqual([name, 422]);
    }
    expect(readdirSync(join(host.dataDir, 'git')).sort()).toEqual(before);
    expect(existsSync(join(host.dataDir, 'pwned'))).toBeFalse();
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
    ...['..', '.', '%2e%2e', '%2e', '..%2f..', '%2e%2e%2f%2e%2e%2fetc%2fpasswd', '..%5c..', '....%2f%2f'],
    ...['a;touch%20pwned', 'a%26touch%20pwned', '$(touch%20pwned)', '%60touch%20pwned%60', 'a|touch%20pwned'],
    ...[
      'a%0atouch%20pwned',
      'a%0d%0aX-Header:%20y',
      'a%00b',
      '%00',
      'a%20b',
      'a%09b',
      '%7f',
      'a%3eb',
      'a%3cb',
    ],
    ...[
      '--upload-pack=touch%20pwned',
      '--help',
      '-c',
      '-u',
      '--exec=x',
      '-',
      '--',
      '--output=%2ftmp%2fpwned',
    ],
    ...['.git%2fconfig', '.git', 'a.git', 'a.lock', 'x.wiki', '%2fetc%2fpasswd', '%2f%2fetc', 'C:%5cwindows'],
    ...[
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
    ],
    ...[
      `${folder}%2fconfig`,
      `%2e%2e%2f${folder}`,
      `a%2fb`,
      'HEAD%5e%7bcommit%7d',
      'main~1',
      'main%40%7b1%7d',
    ],
    ...[
      ':%2fFirst',
      ':(top)',
      'refs%2fheads%2f..%2f..%2fconfig',
      'a'.repeat(300),
      "'%20or%201=1--",
      'file:%2f%2f%2fetc',
    ],
    'ext::sh%20-c%20touch%20pwned',
  ];
}
