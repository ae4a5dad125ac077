import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PatAction } from '@svc/contract/pat-actions.ts';
import { type RawBuilder, sql } from 'kysely';
import { createTaggedCache } from '../../core/cache.ts';
import type { Caller, TenantAccess } from '../../core/context.ts';
import { listenForChanges } from '../../core/invalidation.ts';
import { loadKey } from '../../core/keys.ts';
import { createMetrics } from '../../core/metrics.ts';
import { fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import { openGitHost } from '../../drivers/git/open-git-host.ts';
import { gitText } from '../../drivers/git/testing/git-folder.ts';
import type { RawDatabases } from '../../drivers/raw-database/raw-databases.ts';
import { parseTrustedProxies } from '../../http/client-address.ts';
import type { RequestHandler } from '../../http/handlers.ts';
import { serve } from '../../http/serve.ts';
import { createAuthenticate, createFindCredential } from '../../identity/credentials/find-credential.ts';
import { createPat } from '../../identity/pats/pats.ts';
import type { Answer } from '../../identity/provider/testing.ts';
import { createTenantAccess } from '../../people/tenants/tenants.ts';
import { newTenant, silentLog, type TestDatabase, testDeps, testMutation } from '../../testing.ts';
import { pushDeployments } from '../deployments/queue-deployment.ts';
import { createConnectedApps } from '../git-connections/connected-apps.ts';
import { createLogWaits } from '../logs/log-lines.ts';
import { createPushPreviews } from '../previews/previews.ts';
import { useEnv } from '../testing.ts';
import { builtInAppKey } from './deps.ts';
import { createGitHost } from './git-host.ts';
import { getTenantInstallation } from './host-store.ts';
import { gitPrefix } from './paths.ts';
import { gitTokenKey, signToken, signUserToken } from './tokens.ts';

type TestGitHost = Awaited<ReturnType<typeof startTestGitHost>>;

export interface ApiResponse extends Answer {
  headers: Headers;
}

async function startTestGitHost({ db, url }: TestDatabase) {
  const root = mkdtempSync(join(tmpdir(), 'svc-git-host-'));
  let skippedSeconds = 0;
  const now = () => new Date(Date.now() + skippedSeconds * 1000);
  let handle: RequestHandler = async () => {
    throw fail('unavailable');
  };
  const serving = serve({
    host: '127.0.0.1',
    port: 0,
    trustedProxies: parseTrustedProxies(''),
    handle: (...request) => handle(...request),
    streamPrefixes: [gitPrefix],
    log: silentLog,
    metrics: createMetrics(),
  });
  const baseUrl = `http://127.0.0.1:${serving.port}`;
  const changes = listenForChanges({ url, log: silentLog });
  await changes.start();
  const cache = <T>() => createTaggedCache<T>(changes, { entriesMax: 1_000 });
  const shared = { db, now, origin: baseUrl, log: silentLog };
  const dataDir = join(root, 'data');
  const app = await loadKey(db, builtInAppKey);
  const address = { gitHost: { kind: 'built-in' }, baseUrl, host: '127.0.0.1', port: serving.port } as const;
  const base = { db, now, baseUrl, ...testDeps };
  const another = () => openGitHost(address, { builtIn: app });
  const gitHost = await another();
  const host = createGitHost({
    ...base,
    app,
    dataDir,
    connectedApps: createConnectedApps({
      ...base,
      gitHost,
      appsDomain: 'apps.example.test',
      pushDeployments,
      previews: createPushPreviews({ gitHost, raw: {} as RawDatabases }),
      waits: createLogWaits(changes),
    }),
    findCredential: createFindCredential({ ...shared, cache: cache() }),
    authenticate: createAuthenticate({ ...shared, cache: cache() }),
    tenantAccess: createTenantAccess({ db, cache: cache() }),
  });
  handle = host.handle;
  return {
    ...host,
    baseUrl,
    dataDir,
    another,
    folder(name: string): string {
      mkdirSync(join(root, name), { recursive: true });
      return join(root, name);
    },
    skip(seconds: number): void {
      skippedSeconds += seconds;
    },
    async call(token: string, method: string, path: string, body?: unknown): Promise<ApiResponse> {
      const headers: Record<string, string> = { authorization: `Bearer ${token}` };
      if (body !== undefined) headers['content-type'] = 'application/json; charset=utf-8';
      const init = { method, headers, body: JSON.stringify(body) };
      const response = await fetch(`${baseUrl}/git/api/v3${path}`, init);
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text === '' ? null : JSON.parse(text),
      };
    },
    async stop(): Promise<void> {
      await serving.stop(1_000);
      await host.stop();
      await changes.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** The host with a client for it, as `svc` uses it. */
export async function startBuiltIn(database: TestDatabase) {
  const { db } = database;
  const { baseUrl, dataDir, stop, another } = await startTestGitHost(database);
  const change = async (userCode: string, set: RawBuilder<unknown>) => {
    const { numAffectedRows } = await sql`update svc.git_host_device_codes set ${set}
      where user_code_hash = ${sha256(userCode)}`.execute(db);
    if (numAffectedRows !== 1n) throw new Error(`There is no code ${userCode}.`);
  };
  return {
    host: await another(),
    another,
    baseUrl,
    dataDir,
    stop,
    change,
    approve: (userCode: string, { userId }: Pick<Caller, 'userId'>) =>
      change(userCode, sql`approved_by = ${userId}`),
  };
}

export const useGitHost = () => useEnv(startGitHostEnv).env;

async function startGitHostEnv(database: TestDatabase) {
  const host = await startTestGitHost(database);
  const { tenant, admin, member } = await newTenant(database.db);
  const token = await hostToken(database, member);
  let count = 0;
  const newRepo = async (more: Record<string, unknown> = {}) => {
    const name = `repo-${++count}`;
    const fullName = `${tenant.slug}/${name}`;
    const request = { name, private: true, ...more };
    const { status, body } = await host.call(token, 'POST', `/orgs/${tenant.slug}/repos`, request);
    if (status !== 201) throw new Error(`POST repos: ${status}`);
    const url = (password = token) => remoteUrl(host, fullName, password);
    return { name, owner: tenant.slug, fullName, token, url, id: body.id as number, body };
  };
  const newRepoWithCopy = async (more: Record<string, unknown> = {}) => {
    const repo = await newRepo(more);
    return { ...repo, copy: await newWorkingCopy(host, `copy-${repo.name}`) };
  };
  return { database, host, tenant, admin, member, token, newRepo, newRepoWithCopy, stop: host.stop };
}

export async function hostToken({ db }: Pick<TestDatabase, 'db'>, { userId }: Pick<Caller, 'userId'>) {
  return (await signUserToken(db, { userId, now: new Date() })).token;
}

export async function installationToken({ deps }: TestGitHost, tenantId: string): Promise<string> {
  const { id: installationId } = await getTenantInstallation(deps.db, tenantId);
  const until = deps.now().getTime() + 3600_000;
  const content = { kind: 'installation', installationId, repoIds: null, mayWrite: true, until } as const;
  return signToken(await loadKey(deps.db, gitTokenKey), content);
}

export async function newPat(
  { db }: TestDatabase,
  tenant: TenantAccess,
  user: Caller,
  { actions, apps = [] }: { actions: PatAction[]; apps?: string[] },
): Promise<string> {
  const create = testMutation(db, user, (ctx) => createPat(ctx, { name: 'git', actions, apps }), {
    context: { tenant },
  });
  return (await create).value.secret;
}

export const git = (cwd: string, ...args: string[]) => gitText(cwd, args);

export function remoteUrl({ baseUrl }: Pick<TestGitHost, 'baseUrl'>, fullName: string, password: string) {
  return `${baseUrl.replace('://', `://someone:${password}@`)}/git/${fullName}.git`;
}

export async function commitFiles(
  folder: string,
  files: Record<string, string | Uint8Array>,
  message = 'A change',
): Promise<string> {
  for (const [path, content] of Object.entries(files)) await Bun.write(join(folder, path), content);
  await git(folder, 'add', '--all');
  await git(folder, 'commit', '--quiet', '--allow-empty', '-m', message);
  return git(folder, 'rev-parse', 'HEAD');
}

export async function newWorkingCopy(host: TestGitHost, name: string): Promise<string> {
  const folder = host.folder(name);
  await git(folder, 'init', '--quiet', '--initial-branch=main');
  await commitFiles(folder, { 'README.md': '# Hello\n', 'src/app.ts': 'export {};\n' }, 'First');
  return folder;
}

/** Connects the app to the repository; without hooks. */
export async function connectApp(
  env: Pick<ReturnType<typeof useGitHost>, 'database' | 'host' | 'tenant' | 'member'>,
  repoId: number,
  appId: string,
): Promise<void> {
  await sql`insert into svc.git_connections (app_id, tenant_id, host, repo_id, repo, is_private, branch,
      installation_id, web_url, clone_url, hook_state, connected_by, connected_at)
    values (${appId}, ${env.tenant.id}, ${`${env.host.baseUrl}/git`}, ${repoId}, 'a/b', true, 'main', 1, '', '',
      'ok', ${env.member.userId}, now())`.execute(env.database.db);
}
