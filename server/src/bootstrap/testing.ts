import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { appLifeRoutes } from '../apps/life-routes.ts';
import { appRoutes } from '../apps/routes.ts';
import { createGitClient } from '../drivers/git-client/create-git-client.ts';
import type { GitClient } from '../drivers/git-client/git-client.ts';
import type { GitHost, GitHostInstallation, GitHostUser } from '../drivers/git-host/git-host.ts';
import { makeHook, makeHookTopic } from '../git-connections/make-hook.ts';
import { builtInCredentials } from '../git-host/built-in-credentials.ts';
import { createGitHost } from '../git-host/create-git-host.ts';
import { issueUserToken } from '../git-host/issue-user-token.ts';
import { openGitHost } from '../git-host-place.ts';
import { createFindCredential } from '../identity/find-credential.ts';
import { copyOfServer, loginOf, peopleRoutes, type ServerCopy } from '../identity/testing.ts';
import { createTaggedCache } from '../plumbing/cache.ts';
import type { Caller, TenantAccess } from '../plumbing/context.ts';
import { listenForChanges } from '../plumbing/invalidation.ts';
import { createOutbox } from '../plumbing/outbox.ts';
import type { Outbox } from '../plumbing/outbox-rows.ts';
import { Failure, problemResponse } from '../plumbing/problem.ts';
import { tableRoutes } from '../tables/routes.ts';
import { newTenant, silentLog, type TestDatabase } from '../testing.ts';
import type { BootstrapParts } from './bootstrap-parts.ts';
import { createBootstrapWorker } from './create-bootstrap-worker.ts';
import { bootstrapRoutes } from './routes.ts';

/** The real built-in git host and the real git; what is deployed is settled by the test. */
export interface BootstrapPlace {
  database: TestDatabase;
  parts: BootstrapParts;
  server: ServerCopy;
  stop(): Promise<void>;
}

export async function bootstrapPlace(database: TestDatabase): Promise<BootstrapPlace> {
  const { db, url, rows } = database;
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-bootstrap-'));
  const now = () => new Date();
  const changes = listenForChanges({ url, log: silentLog });
  await changes.start();
  const answering: { handle?: Awaited<ReturnType<typeof createGitHost>>['handle'] } = {};
  const served = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const info = { ...quietInfo, deadline: request.signal };
      const answer = answering.handle?.(request, new URL(request.url), info);
      return (answer ?? Promise.reject(new Error('too early'))).catch((error: unknown) =>
        error instanceof Failure
          ? problemResponse(error, 'test')
          : new Response(String(error), { status: 500 }),
      );
    },
  });
  const port = served.port ?? 0;
  const baseUrl = `http://127.0.0.1:${port}`;
  const gitHost = await openGitHost(
    { gitHost: { kind: 'built-in' }, baseUrl, host: '127.0.0.1', port } as Parameters<typeof openGitHost>[0],
    { builtIn: () => builtInCredentials(db) },
  );
  const outbox: Outbox = createOutbox({
    ...{ url, db, log: silentLog, sweeps: [] },
    effects: {
      [makeHookTopic]: makeHook({ db, gitHost, baseUrl, now }),
      'audit.anchor': async () => {},
    },
  });
  await outbox.start();
  const parts: BootstrapParts = {
    ...{ db, outbox, log: silentLog, rows, now, gitHost, baseUrl, dataDir },
    appsDomain: 'apps.example.test',
    git: createGitClient({ workDir: join(dataDir, 'work'), path: process.env.PATH ?? '' }),
  };
  const routes = [
    ...peopleRoutes,
    ...appRoutes,
    ...appLifeRoutes({ runtime: { kind: 'process' } }),
    ...bootstrapRoutes(parts),
    ...tableRoutes,
  ];
  const server = await copyOfServer(database, now, routes);
  const findCredential = createFindCredential({
    ...{ db, now, origin: baseUrl, log: silentLog },
    cache: createTaggedCache(changes, { entriesMax: 100 }),
  });
  const service = await createGitHost({
    ...{ db, now, baseUrl, outbox, dataDir, log: silentLog, findCredential },
    ...{ authenticate: server.authenticate, tenantAccess: server.tenantAccess },
  });
  answering.handle = service.handle;
  return {
    ...{ database, parts, server },
    async stop() {
      await service.stop();
      await served.stop(true);
      await outbox.stop();
      await server.stop();
      await changes.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

const quietInfo = {
  ...{ requestId: 'test', log: silentLog, setRoute: () => {}, clientAddress: '127.0.0.1' },
};

export interface BootstrapWorld {
  tenant: TenantAccess;
  admin: Caller;
  member: Caller;
  login: { authorization: string };
  base: string;
  /** A template whose repository has one page. */
  template: string;
  /** The run as its starter sees it. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of all shapes.
  start(body?: Record<string, unknown>): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  look(id: string): Promise<any>;
  installation(): Promise<number>;
}

/** A tenant of the test's own, with a template from a repository of its own. */
export async function bootstrapWorld({ database, parts, server }: BootstrapPlace): Promise<BootstrapWorld> {
  const { db } = database;
  const { tenant, admin, member } = await newTenant(db);
  const login = await loginOf(database, member);
  const base = `/api/v1/tenants/${tenant.slug}`;
  const template = await newTemplate(parts, { tenant, person: admin });
  return {
    ...{ tenant, admin, member, login, base, template },
    async start(body = {}) {
      const wanted = { template, slug: newSlug(), ...body };
      const { status, body: run } = await server.call(login, 'POST', `${base}/bootstraps`, wanted);
      if (status !== 201) throw new Error(`The start was refused: ${JSON.stringify(run)}`);
      return run;
    },
    installation: async () => (await parts.gitHost.installationOfOwner(tenant.slug))?.id ?? 0,
    look: async (id) => (await server.call(login, 'GET', `${base}/bootstraps/${id}`)).body,
  };
}

export const newSlug = () => `s-${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}`;

/** A repository at the built-in host with these files, made by the person. */
export async function newRepository(
  { db, gitHost, git, dataDir }: BootstrapParts,
  {
    tenant,
    person,
    files,
    name = newSlug(),
  }: { tenant: TenantAccess; person: Caller; files: Record<string, string>; name?: string },
): Promise<{ owner: string; name: string }> {
  const { token } = await issueUserToken(db, { userId: person.userId, now: new Date() });
  const installation = await gitHost.installationOfOwner(tenant.slug);
  if (!installation) throw new Error('The tenant has no installation.');
  const as = gitHost.asInstallation(installation.id);
  const wanted = { owner: installation.account, name, isPrivate: true, description: '', userToken: token };
  const { owner } = await as.createRepository(wanted);
  const folder = join(dataDir, 'sources', name);
  for (const [path, text] of Object.entries(files)) await Bun.write(join(folder, path), text);
  const to = { url: gitHost.remoteUrl({ owner, name }), ...(await as.credentials()) };
  const [author, signal] = [{ name: 'Test', email: 'test@example.test' }, new AbortController().signal];
  await git.pushFirst({ to, branch: 'main', folder, author, message: 'A page', at: new Date(), signal });
  return { owner, name };
}

/** From a repository of its own with these files. */
export async function newTemplate(
  parts: BootstrapParts,
  {
    tenant,
    person,
    files = { 'index.html': '<h1>Hello</h1>', 'css/site.css': 'h1 { color: teal }' },
  }: { tenant: TenantAccess; person: Caller; files?: Record<string, string> },
): Promise<string> {
  const { owner, name } = await newRepository(parts, { tenant, person, files });
  const id = Bun.randomUUIDv7();
  await sql`
    insert into svc.templates (id, tenant_id, name, description, framework, deploy_method, repository, added_by, created_at)
    values (${id}, ${tenant.id}, 'A page', '', 'html', 'static', ${`${owner}/${name}`}, ${person.userId}, now())`.execute(
    parts.db,
  );
  return id;
}

/** A copy that carries runs out, ended by the test; nobody waits for a back-off, or for the next look. */
export async function withWorker<T>(parts: BootstrapParts, work: () => Promise<T>): Promise<T> {
  const worker = createBootstrapWorker(parts);
  worker.start();
  const hurrying = setInterval(() => {
    void sql`update svc.bootstrap_runs set next_try_at = null where next_try_at is not null`
      .execute(parts.db)
      .then(worker.wake)
      .catch(() => {});
  }, 100);
  try {
    return await work();
  } finally {
    clearInterval(hurrying);
    await worker.stop();
  }
}

/** As if deployments of the tenant ended so, from now on until it is stopped. */
export function settleDeployments(
  { db }: BootstrapParts,
  tenantId: string,
  end: { state: 'live' } | { state: 'failed'; code: string } = { state: 'live' },
): { stop(): void } {
  const code = end.state === 'failed' ? end.code : null;
  const timer = setInterval(() => {
    void sql`
      update svc.deployments set state = ${end.state}, ended_at = now(), failure_code = ${code},
        failure_detail = ${code === null ? null : 'It did not work.'}
      where tenant_id = ${tenantId} and state = 'queued'`
      .execute(db)
      .catch(() => {});
  }, 50);
  return { stop: () => clearInterval(timer) };
}

type Call = keyof GitHostInstallation | keyof GitHostUser | keyof GitClient;
/** Told before and after each call outside; what it throws or waits for, the call does. */
export type Watch = (call: Call, when: 'before' | 'after', args: unknown[]) => Promise<void> | void;

/** The same parts, with somebody who looks on. */
export function watched(parts: BootstrapParts, watch: Watch): BootstrapParts {
  const wrap = <T extends object>(of: T): T =>
    new Proxy(of, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]) => {
          await watch(name as Call, 'before', args);
          const answer: unknown = await value.apply(target, args);
          await watch(name as Call, 'after', args);
          return answer;
        };
      },
    });
  const gitHost: GitHost = {
    ...parts.gitHost,
    asUser: (token) => wrap(parts.gitHost.asUser(token)),
    asInstallation: (id, repo) => wrap(parts.gitHost.asInstallation(id, repo)),
  };
  return { ...parts, gitHost, git: wrap(parts.git) };
}

export async function until<T>(
  what: string,
  ask: () => Promise<T | null | undefined | false>,
  millisecondsMax = 30_000,
): Promise<T> {
  const deadline = performance.now() + millisecondsMax;
  // Less often after a while: to ask is work as well.
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.5, 50)) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > deadline) throw new Error(`In ${millisecondsMax} ms it did not happen: ${what}.`);
    await Bun.sleep(pauseMs);
  }
}

/** How many there are of what a run makes. */
export async function made({ db }: BootstrapParts, { tenant }: { tenant: TenantAccess }, slug: string) {
  const { rows } = await sql<Record<string, number>>`
    select (select count(*) from svc.apps where tenant_id = ${tenant.id} and slug = ${slug}) as apps,
      (select count(*) from svc.git_host_repos where tenant_id = ${tenant.id} and name = ${slug}) as repositories,
      (select count(*) from svc.git_connections c join svc.apps a on a.id = c.app_id
        where a.tenant_id = ${tenant.id} and a.slug = ${slug}) as connections,
      (select count(*) from svc.git_host_hooks h join svc.git_host_repos r on r.id = h.repo_id
        where r.tenant_id = ${tenant.id} and r.name = ${slug}) as hooks,
      (select count(*) from svc.deployments d join svc.apps a on a.id = d.app_id
        where a.tenant_id = ${tenant.id} and a.slug = ${slug}) as deployments`.execute(db);
  return rows[0];
}
