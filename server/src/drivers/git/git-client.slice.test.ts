import { afterAll, beforeAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGitClient, type Remote, removeStaleGitFolders } from './git-client.ts';
import { createLocalLauncher } from './git-launcher.ts';
import { GitError, runGit } from './run-git.ts';

// Some tests push tens of megabytes.
const path = process.env.PATH ?? '';
const password = 'a-secret-of-the-host';
let root: string;
let server: Bun.Server<undefined>;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-git-client-'));
  mkdirSync(join(root, 'repos'));
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer });
});
afterAll(async () => {
  await server.stop(true);
  rmSync(root, { recursive: true, force: true });
});

/** Authorization headers of requests that followed a redirect. */
const stolen: (string | null)[] = [];

/** Git's smart HTTP backend with one password for all repositories. */
async function answer(request: Request): Promise<Response> {
  const url = new URL(request.url);
  if (url.pathname.startsWith('/stolen')) stolen.push(request.headers.get('authorization'));
  if (url.pathname.startsWith('/silent')) return new Promise(() => {});
  if (url.pathname.startsWith('/elsewhere'))
    return Response.redirect(url.href.replace('/elsewhere', '/stolen'), 302);
  const wanted = `Basic ${Buffer.from(`x:${password}`).toString('base64')}`;
  if (request.headers.get('authorization') !== wanted) return new Response('no', { status: 401 });
  const child = Bun.spawn(['git', 'http-backend'], {
    stdin: new Uint8Array(await request.arrayBuffer()),
    stdout: 'pipe',
    stderr: 'ignore',
    env: {
      PATH: path,
      GIT_PROJECT_ROOT: join(root, 'repos'),
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_GLOBAL: join(root, 'config'),
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers.get('content-type') ?? '',
      HTTP_CONTENT_ENCODING: request.headers.get('content-encoding') ?? '',
      GIT_PROTOCOL: request.headers.get('git-protocol') ?? '',
      REMOTE_USER: 'x',
    },
  });
  const bytes = Buffer.from(await new Response(child.stdout).arrayBuffer());
  const end = bytes.indexOf('\r\n\r\n');
  const headers = new Headers(
    bytes
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line) => line.split(': ', 2) as [string, string]),
  );
  const status = Number(headers.get('status')?.slice(0, 3) ?? 200);
  headers.delete('status');
  return new Response(bytes.subarray(end + 4), { status, headers });
}

let made = 0;
function newRepo(): Remote & { folder: string } {
  const name = `r${++made}.git`;
  const folder = join(root, 'repos', name);
  writeFileSync(join(root, 'config'), '[safe]\n\tdirectory = *\n');
  Bun.spawnSync(['git', 'init', '-q', '--bare', folder]);
  for (const setting of ['http.receivepack', 'uploadpack.allowAnySHA1InWant'])
    Bun.spawnSync(['git', '-C', folder, 'config', setting, 'true']);
  return { url: `http://127.0.0.1:${server.port}/${name}`, username: 'x', password, folder };
}

function newFolder(files: Record<string, string> = {}): string {
  const folder = join(root, `f${++made}`);
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const client = () => createGitClient({ workDir: join(root, 'work'), path });
const { signal } = new AbortController();
const first = (to: Remote, folder: string, branch = 'main') =>
  client().pushFirst({
    to,
    branch,
    folder,
    author: { name: 'Ada', email: 'ada@example.test' },
    message: 'Begin',
    at: new Date('2026-01-02T03:04:05Z'),
    signal,
  });

async function catchGitError(work: Promise<unknown>): Promise<GitError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof GitError) return error;
    throw error;
  }
  throw new Error('No GitError was thrown.');
}

test('checkOut returns the files of pushFirst, without .git', async () => {
  const repo = newRepo();
  const folder = newFolder({
    'a.txt': 'A',
    'b/c.sh': '#!/bin/sh\n',
    '.gitignore': 'ignored\n',
    ignored: 'x',
  });
  chmodSync(join(folder, 'b/c.sh'), 0o755);
  symlinkSync('a.txt', join(folder, 'link'));
  const pushed = await first(repo, folder);
  const into = join(root, `into${++made}`);
  const out = await client().checkOut({ from: repo, ref: 'main', into, signal, bytesMax: 1e6 });
  expect(out).toEqual({ sha: pushed?.sha ?? '', message: 'Begin' });
  expect(readdirSync(into).sort()).toEqual(['.gitignore', 'a.txt', 'b', 'link']);
  expect(readFileSync(join(into, 'a.txt'), 'utf8')).toBe('A');
  const bySha = join(root, `into${++made}`);
  await client().checkOut({ from: repo, ref: out.sha, into: bySha, signal, bytesMax: 1e6 });
  expect(existsSync(join(bySha, 'a.txt'))).toBe(true);
  expect(readdirSync(join(root, 'work'))).toEqual([]);
});

test('pushFirst is idempotent and does not change a repository with other commits', async () => {
  const repo = newRepo();
  const folder = newFolder({ a: '1' });
  const once = await first(repo, folder);
  expect(await first(repo, folder)).toEqual(once);
  expect(await first(repo, newFolder({ a: '2' }))).toBeNull();
  expect(await first(repo, folder, 'other')).toBeNull();
});

test('copyBranch copies a branch with its history into an empty repository', async () => {
  const [from, to] = [newRepo(), newRepo()];
  const pushed = await first(from, newFolder({ a: '1' }));
  const job = { from, fromRef: 'main', to, branch: 'trunk', signal };
  expect(await client().copyBranch(job)).toEqual(pushed);
  expect(await client().copyBranch(job)).toEqual(pushed);
  const into = join(root, `into${++made}`);
  expect(await client().checkOut({ from: to, ref: 'trunk', into, signal, bytesMax: 1e6 })).toMatchObject({
    sha: pushed?.sha,
  });
});

test('copyBranch can add a commit with an edit, and is idempotent', async () => {
  const [from, to] = [newRepo(), newRepo()];
  const folder = newFolder({ 'a.txt': 'one\r\nx', 'b/a.txt': 'one', big: '1'.repeat(100), odd: 'x' });
  writeFileSync(join(folder, 'odd'), Buffer.from([0x31, 0xff]));
  symlinkSync('a.txt', join(folder, 'link'));
  chmodSync(join(folder, 'a.txt'), 0o755);
  const pushed = await first(from, folder);
  const edit = {
    names: ['a.txt', 'big', 'odd', 'link', 'none'],
    fileBytesMax: 50,
    message: 'Edited',
    at: new Date(1e12),
    author: { name: 'E', email: 'e@example.test' },
    change: (text: string) => text.replace('one', 'two').replaceAll('1', '2'),
  };
  const job = { from, fromRef: 'main', to, branch: 'main', signal };
  const made = await client().copyBranch({ ...job, edit });
  expect(await client().copyBranch({ ...job, edit })).toEqual(made);
  const git = (...args: string[]) => Bun.spawnSync(['git', '-C', to.folder, ...args]).stdout.toString();
  expect(git('diff', '--raw', '--abbrev=1', 'main~', 'main')).toMatch(/^:100755 100755 \S+ \S+ M\ta\.txt\n$/);
  expect([git('show', 'main:a.txt'), git('rev-parse', 'main~').trim()]).toEqual([
    'two\r\nx',
    pushed?.sha ?? '',
  ]);
  expect(git('log', '-1', '--format=%an %at %s', 'main')).toBe('E 1000000000 Edited\n');
  const same = await client().copyBranch({ ...job, to: newRepo(), edit: { ...edit, change: () => null } });
  expect(same).toEqual(pushed);
});

test('checkOut rejects a source beyond bytesMax', async () => {
  const repo = newRepo();
  await first(repo, newFolder({ big: 'x'.repeat(100_000) }));
  const into = join(root, `into${++made}`);
  const { reason } = await catchGitError(
    client().checkOut({ from: repo, ref: 'main', into, signal, bytesMax: 50_000 }),
  );
  expect(reason).toBe('too_large');
  expect(existsSync(join(into, 'big'))).toBe(false);
});

/** Nested trees that list the same subtree ten times, with a blob or nothing at the end. */
function newBomb(levels: number, content: string | null): Remote {
  const repo = newRepo();
  const git = (args: string[], input: string) =>
    Bun.spawnSync(['git', '-C', repo.folder, ...args], { stdin: Buffer.from(input) })
      .stdout.toString()
      .trim();
  const file =
    content === null ? '' : `100644 blob ${git(['hash-object', '-w', '--stdin'], content)}\tfile\n`;
  let tree = git(['mktree'], file);
  for (let level = 0; level < levels; level++)
    tree = git(['mktree'], Array.from({ length: 10 }, (_, at) => `040000 tree ${tree}\td${at}\n`).join(''));
  const commit = `tree ${tree}\nauthor a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\n${'long '.repeat(40_000)}\n`;
  const sha = git(['hash-object', '-t', 'commit', '-w', '--stdin'], commit);
  git(['update-ref', 'refs/heads/main', sha], '');
  return repo;
}

test.each([
  ['files', 'x'],
  ['empty folders', null],
])(
  'a few small trees that expand to millions of %s are rejected without using much memory',
  async (_of, content) => {
    const from = newBomb(7, content);
    const before = process.memoryUsage.rss();
    const into = join(root, `into${++made}`);
    const { reason } = await catchGitError(
      client().checkOut({ from, ref: 'main', into, signal, bytesMax: 1024 ** 3 }),
    );
    expect(reason).toBe('too_large');
    expect(readdirSync(into)).toEqual(['.git']);
    expect(process.memoryUsage.rss() - before).toBeLessThan(150 * 1024 ** 2);
  },
);

test('a long commit message is truncated', async () => {
  const from = newBomb(0, 'x');
  const into = join(root, `into${++made}`);
  const { message } = await client().checkOut({ from, ref: 'main', into, signal, bytesMax: 1e6 });
  expect(message).toStartWith('long long');
  expect(message.length).toBeLessThanOrEqual(64 * 1024);
});

test('copyBranch stops beyond bytesMax', async () => {
  const [from, to] = [newRepo(), newRepo()];
  await first(from, newFolder({ big: randomBytes(3_000_000).toString('base64') }));
  const job = { from, fromRef: 'main', to, branch: 'main', signal, bytesMax: 100_000 };
  expect((await catchGitError(client().copyBranch(job))).reason).toBe('too_large');
  expect(readdirSync(join(root, 'work'))).toEqual([]);
});

test('output and run time of git are limited', async () => {
  const run = { launcher: createLocalLauncher(), path, cwd: newFolder(), signal };
  const long = runGit({ ...run, args: ['help', '-a'], bytesMax: 100 });
  expect((await catchGitError(long)).reason).toBe('too_large');
  const url = `http://127.0.0.1:${server.port}/silent.git`;
  const remote = { url, username: 'x', password: 'secret' };
  const late = runGit({ ...run, args: ['ls-remote', '--', url], remote, msMax: 300 });
  expect((await catchGitError(late)).message).toContain('too long');
});

test('removeStaleGitFolders keeps recent folders', async () => {
  const workDir = newFolder({ 'git-old/a': '1', 'git-new/a': '1', 'other/a': '1' });
  const long = new Date(Date.now() - 2 * 3600_000);
  for (const name of ['git-old', 'other']) utimesSync(join(workDir, name), long, long);
  await removeStaleGitFolders(workDir, new Date());
  expect(readdirSync(workDir).sort()).toEqual(['git-new', 'other']);
  await removeStaleGitFolders(join(workDir, 'none'), new Date());
});

test('errors distinguish a wrong password, a missing repository and a missing branch, and hide the password', async () => {
  const repo = newRepo();
  await first(repo, newFolder({ a: '1' }));
  const out = (from: Remote, ref = 'main') =>
    catchGitError(client().checkOut({ from, ref, into: join(root, `into${++made}`), signal, bytesMax: 1e6 }));
  const wrong = await out({ ...repo, password: 'another-secret' });
  expect(wrong.reason).toBe('refused');
  expect(wrong.message).not.toContain('another-secret');
  expect((await out({ ...repo, url: repo.url.replace('.git', '-none.git') })).reason).toBe('not_found');
  expect((await out(repo, 'nowhere')).reason).toBe('not_found');
  expect((await out({ ...repo, url: 'http://127.0.0.1:1/x.git' })).reason).toBe('unreachable');
});

test('redirects are not followed', async () => {
  const repo = { ...newRepo(), url: `http://127.0.0.1:${server.port}/elsewhere.git` };
  const failure = await catchGitError(
    client().checkOut({ from: repo, ref: 'main', into: join(root, `into${++made}`), signal, bytesMax: 1e6 }),
  );
  expect(['unreachable', 'not_found']).toContain(failure.reason);
  expect(stolen).toEqual([]);
});

test.each([
  '--upload-pack=touch /tmp/x',
  '-x',
  'a b',
  'a;b',
  'a..b',
  'a\nb',
  '$(id)',
  '`id`',
  'a:b',
  'refs/heads/../x',
  '+main',
  'a~1',
  'a^',
  'a?',
  'a*',
  'a[',
  'a\\b',
  '@{0}',
  '',
  '/a',
  'a/',
  'a.lock',
  '.a',
  'a//b',
  'HEAD',
  'é',
])('%p is rejected as a ref before git starts', async (ref) => {
  const from = { url: 'http://127.0.0.1:1/x.git', username: 'x', password };
  const into = join(root, `into${++made}`);
  const failure = await catchGitError(client().checkOut({ from, ref, into, signal, bytesMax: 1 }));
  expect(failure.reason).toBe('not_found');
  expect(existsSync(into)).toBe(false);
});

test.each([
  'ext::sh -c id',
  'file:///etc',
  '/etc',
  'ssh://x/y',
  '--upload-pack=id',
  'http://u:p@x/y',
  'git://x/y',
])('%p is rejected as a URL', async (url) => {
  const from = { url, username: 'x', password };
  const into = join(root, `into${++made}`);
  const failure = await catchGitError(client().checkOut({ from, ref: 'main', into, signal, bytesMax: 1 }));
  expect(failure.reason).toBe('refused');
  expect(existsSync(into)).toBe(false);
});

test('an aborted signal prevents the start', async () => {
  const repo = newRepo();
  const stopped = AbortSignal.abort(new Error('stopped'));
  const into = join(root, `into${++made}`);
  expect(client().checkOut({ from: repo, ref: 'main', into, signal: stopped, bytesMax: 1 })).rejects.toThrow(
    'stopped',
  );
});
