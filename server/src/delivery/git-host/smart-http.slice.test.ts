import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import { newApp } from '../../apps/record/testing.ts';
import { git as runGit } from '../../drivers/git/testing/git-folder.ts';
import { until } from '../testing.ts';
import { findRepoRowById } from './host-store.ts';
import { commitFiles, connectApp, git, installationToken, useGitHost } from './testing.ts';

const env = useGitHost();

/** Each request runs in its own process group. */
const isFirstOfGroup = (pid: string) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[2] === pid;
  } catch {
    return false;
  }
};
/** The git processes of this host. */
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

  test('a push succeeds although git was killed during an earlier one: its locks are removed after a minute', async () => {
    const repo = await env.newRepoWithCopy();
    await git(repo.copy, 'push', '--quiet', repo.url(repo.token), 'main');
    const { folder } = (await findRepoRowById(env.database.db, repo.id))!;
    const path = env.host.deps.folders.path(folder);
    const locks = ['refs/heads/main.lock', 'packed-refs.lock'].map((name) => join(path, name));
    const lockedBefore = (seconds: number) => {
      for (const lock of locks) {
        writeFileSync(lock, '');
        utimesSync(lock, Date.now() / 1000 - seconds, Date.now() / 1000 - seconds);
      }
    };
    const push = async () => {
      await commitFiles(repo.copy, { 'n.txt': `${Math.random()}` });
      return (await runGit(repo.copy, ['push', repo.url(repo.token), 'main'])).code;
    };
    lockedBefore(30);
    expect(await push()).toBe(1);
    lockedBefore(61);
    expect([await push(), locks.filter(existsSync)]).toEqual([0, []]);
  });

  test('a push prints which apps of the user it deploys', async () => {
    const repo = await env.newRepoWithCopy();
    const push = async (...more: string[]) => {
      await commitFiles(repo.copy, { 'n.txt': `${Math.random()}` });
      const { code, stderr: err } = await runGit(repo.copy, [...more, 'push', repo.url(repo.token), 'HEAD']);
      expect(code).toBe(0);
      return err;
    };
    expect(await push()).toContain('remote: Not deployed: no app is connected to this repository.');
    const others = await newApp(env.database.db, env.tenant, env.admin);
    await connectApp(env, repo.id, others.id);
    expect(await push()).not.toContain('remote:');
    const app = await newApp(env.database.db, env.tenant, env.member);
    await connectApp(env, repo.id, app.id);
    const said = await push();
    expect(said).toContain(`remote: Deployment #1 of ${app.slug}: building`);
    expect(said).toMatch(new RegExp(`svc deployments wait [0-9a-f-]{36} --app ${app.slug}`));
    expect(said).not.toContain(others.slug);
    await sql`update svc.apps set runtime = 'suspended' where id = ${app.id}`.execute(env.database.db);
    expect(await push()).toContain(`remote: Not deployed: ${app.slug} is suspended.`);
    await git(repo.copy, 'checkout', '--quiet', '-b', 'other');
    expect(await push()).toContain(`remote: Not deployed: ${app.slug} deploys pushes to main, not to other.`);
  });

  test('a push of many branches records and prints what concerns the app', async () => {
    const repo = await env.newRepoWithCopy();
    const app = await newApp(env.database.db, env.tenant, env.member);
    await connectApp(env, repo.id, app.id);
    for (let n = 0; n < 30; n++) await git(repo.copy, 'branch', `topic-${n}`);
    const { code, stderr: said } = await runGit(repo.copy, ['push', '--all', repo.url(repo.token)]);
    expect([code, said.match(/Not deployed.*/g)?.map((text) => text.trimEnd())]).toEqual([
      0,
      [`Not deployed: 30 other branches; ${app.slug} deploys pushes to main.`],
    ]);
    expect(said).toContain(`remote: Deployment #1 of ${app.slug}: building`);
    const { rows } = await sql`select branch, outcome from svc.git_pushes where app_id = ${app.id}
      order by received_at desc, delivery_id desc`.execute(env.database.db);
    expect(rows).toEqual([
      { branch: 'main', outcome: 'deployed' },
      { branch: 'topic-0', outcome: 'other_branch' },
    ]);
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
    const stall = (body: string, length = 6) =>
      Array.from({ length }, () => {
        const socket = connect(Number(port), '127.0.0.1');
        socket.write(
          `POST /git/${repo.fullName}.git/git-receive-pack HTTP/1.1\r\nhost: ${name}\r\n` +
            `authorization: Bearer ${repo.token}\r\ncontent-type: application/x-git-receive-pack-request\r\n` +
            `transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`,
        );
        return socket;
      });
    const command = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/x\0 report-status`;
    const stalled = stall(`${line(command)}0000`);
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
    // Before git is started, too.
    const early = stall('00');
    await until(async () => {
      if ((await ask()).status === 503) return true;
      // The question had the slot of one of them.
      early.push(...stall('00', 1));
      return false;
    });
    for (const socket of early) socket.destroy();
    const endedAt = performance.now();
    await until(async () => (await ask()).status === 200);
    expect(performance.now() - endedAt).toBeLessThan(patientMs(10_000));
  });
});
