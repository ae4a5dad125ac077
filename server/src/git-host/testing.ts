import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createAuthenticate } from '../identity/authenticate.ts';
import { createFindCredential } from '../identity/find-credential.ts';
import { loginOf } from '../identity/testing.ts';
import { createPat } from '../pats/create-pat.ts';
import { createTaggedCache } from '../plumbing/cache.ts';
import { parseTrustedProxies } from '../plumbing/client-address.ts';
import type { Caller, TenantAccess } from '../plumbing/context.ts';
import { listenForChanges } from '../plumbing/invalidation.ts';
import { createMetrics } from '../plumbing/metrics.ts';
import { rowsOnly } from '../plumbing/outbox-rows.ts';
import { fail } from '../plumbing/problem.ts';
import { type Handle, serve } from '../plumbing/serve.ts';
import { createTenantAccess } from '../tenants/tenant-access.ts';
import { silentLog, type TestDatabase, testMutation } from '../testing.ts';
import { installationOfTenant } from './accounts-store.ts';
import { createGitHost, type GitHostService } from './create-git-host.ts';
import { issueUserToken } from './issue-user-token.ts';
import { gitPrefix } from './paths.ts';
import { signToken } from './signed-token.ts';

/** A git host as the server has it, behind the same outermost layer, in a data dir of its own. */
export interface TestGitHost extends GitHostService {
  baseUrl: string;
  dataDir: string;
  /** A folder that is removed with it. */
  folder(name: string): string;
  /** Moves the host's clock. */
  skip(seconds: number): void;
  call(token: string, method: string, path: string, body?: unknown): Promise<Called>;
  stop(): Promise<void>;
}

export interface Called {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of all shapes.
  body: any;
}

export async function startTestGitHost(database: TestDatabase): Promise<TestGitHost> {
  const { db, url } = database;
  const place = mkdtempSync(join(tmpdir(), 'svc-git-host-'));
  let skipped = 0;
  const now = () => new Date(Date.now() + skipped * 1000);
  let handle: Handle = async () => {
    throw fail('unavailable');
  };
  const serving = serve({
    host: '127.0.0.1',
    port: 0,
    trustedProxies: parseTrustedProxies(''),
    handle: (...request) => handle(...request),
    streams: [gitPrefix],
    log: silentLog,
    metrics: createMetrics(),
  });
  const baseUrl = `http://127.0.0.1:${serving.port}`;
  const changes = listenForChanges({ url, log: silentLog });
  await changes.start();
  const cache = <T>() => createTaggedCache<T>(changes, { entriesMax: 1_000 });
  const shared = { db, now, origin: baseUrl, log: silentLog };
  const dataDir = join(place, 'data');
  const host = await createGitHost({
    db,
    now,
    baseUrl,
    dataDir,
    log: silentLog,
    outbox: rowsOnly,
    findCredential: createFindCredential({ ...shared, cache: cache() }),
    authenticate: createAuthenticate({ ...shared, cache: cache() }),
    tenantAccess: createTenantAccess({ db, cache: cache() }),
  });
  handle = host.handle;
  return {
    ...host,
    baseUrl,
    dataDir,
    folder: (name) => {
      const path = join(place, name);
      mkdirSync(path, { recursive: true });
      return path;
    },
    skip: (seconds) => {
      skipped += seconds;
    },
    async call(token, method, path, body) {
      const answer = await fetch(`${baseUrl}/git/api/v3${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) };
    },
    async stop() {
      await serving.stop(1_000);
      await host.stop();
      await changes.stop();
      rmSync(place, { recursive: true, force: true });
    },
  };
}

/** A token of the host, as the platform gives it out. */
export async function hostToken({ db }: TestDatabase, user: Pick<Caller, 'userId'>): Promise<string> {
  return (await issueUserToken(db, { userId: user.userId, now: new Date() })).token;
}

/** Of the app of the host, for all of a tenant's repositories. */
export async function installationToken({ parts }: TestGitHost, tenantId: string): Promise<string> {
  const { id: installationId } = await installationOfTenant(parts.db, tenantId);
  const until = parts.now().getTime() + 3600_000;
  return signToken(parts.tokenKey, {
    ...{ kind: 'installation', installationId, repoIds: null, mayWrite: true, until },
  });
}

/** Of a login to the platform. */
export async function loginToken(database: TestDatabase, user: Pick<Caller, 'userId'>): Promise<string> {
  return (await loginOf(database, user)).authorization.slice('Bearer '.length);
}

export async function patOf(
  { db }: TestDatabase,
  tenant: TenantAccess,
  user: Caller,
  scope: { actions: ('read' | 'write')[]; apps?: string[] },
): Promise<string> {
  const { value } = await testMutation(
    db,
    user,
    (ctx) => createPat(ctx, { name: 'git', actions: scope.actions, apps: scope.apps ?? [] }),
    { context: { tenant } },
  );
  return value.secret;
}

export interface GitRun {
  code: number;
  out: string;
  err: string;
}

/** The git of whoever uses the host: a program of its own, without anything of this machine's configuration. */
export function runGit(cwd: string, ...argv: string[]): Promise<GitRun> {
  const env = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: cwd,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: 'Ann',
    GIT_AUTHOR_EMAIL: 'ann@example.test',
    GIT_COMMITTER_NAME: 'Ann',
    GIT_COMMITTER_EMAIL: 'ann@example.test',
  };
  const { promise, resolve, reject } = Promise.withResolvers<GitRun>();
  const child = spawn('git', argv, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (piece) => {
    out += piece;
  });
  child.stderr.on('data', (piece) => {
    err += piece;
  });
  child.once('error', reject);
  child.once('close', (code) => resolve({ code: code ?? -1, out, err }));
  return promise;
}

/** The same, where anything but success is a fault of the test. */
export async function git(cwd: string, ...argv: string[]): Promise<string> {
  const { code, out, err } = await runGit(cwd, ...argv);
  if (code !== 0) throw new Error(`git ${argv.join(' ')} ended with ${code}: ${err}`);
  return out.trim();
}

export function remoteUrl(host: Pick<TestGitHost, 'baseUrl'>, fullName: string, password: string): string {
  return `${host.baseUrl.replace('://', `://someone:${password}@`)}/git/${fullName}.git`;
}

/** Writes the files and commits them. */
export async function commitFiles(
  folder: string,
  files: Record<string, string | Uint8Array>,
  message = 'A change',
): Promise<string> {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  await git(folder, 'add', '--all');
  await git(folder, 'commit', '--quiet', '--allow-empty', '-m', message);
  return git(folder, 'rev-parse', 'HEAD');
}

/** A working copy with a first commit on `main`. */
export async function newWorkingCopy(host: TestGitHost, name: string): Promise<string> {
  const folder = host.folder(name);
  await git(folder, 'init', '--quiet', '--initial-branch=main');
  await commitFiles(folder, { 'README.md': '# Hello\n', 'src/app.ts': 'export {};\n' }, 'First');
  return folder;
}

/** Asks again until it is so. */
export async function until<T>(ask: () => Promise<T | null | undefined | false>, msMax = 30_000): Promise<T> {
  const deadline = performance.now() + msMax;
  // Less often after a while: to ask is work as well.
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.5, 50)) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > deadline) throw new Error(`In ${msMax} ms it did not happen.`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
