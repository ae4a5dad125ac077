import { join } from 'node:path';
import { sql } from 'kysely';
import { appRoutes } from '../../apps/routes.ts';
import type { Caller, TenantAccess } from '../../core/context.ts';
import { createOutbox } from '../../core/outbox-worker.ts';
import { tableRoutes } from '../../data/routes.ts';
import type { GitClient } from '../../drivers/git/git-client.ts';
import { createGitClient } from '../../drivers/git/git-client.ts';
import type { GitHostInstallation, GitHostUser } from '../../drivers/git/git-host.ts';
import { loginHeaders, peopleRoutes, startServerCopy } from '../../identity/provider/testing.ts';
import { newTenant, silentLog, type TestDatabase, testEvents } from '../../testing.ts';
import { createHook, createHookTopic } from '../git-connections/hooks.ts';
import { hostToken, startBuiltIn } from '../git-host/testing.ts';
import { bootstrapRoutes } from '../routes.ts';
import { until, useEnv } from '../testing.ts';
import type { BootstrapDeps } from './rules.ts';
import { createBootstrapWorker } from './state-machine.ts';

type BootstrapEnv = Awaited<ReturnType<typeof startBootstrap>>;
export type BootstrapWorld = Awaited<ReturnType<typeof newWorld>>;

export const useBootstrap = () => useEnv(startBootstrap);

/** The built-in git host and git are real; tests set the outcome of deployments. */
async function startBootstrap(database: TestDatabase) {
  const { db, url, rows } = database;
  const now = () => new Date();
  const builtIn = await startBuiltIn(database);
  const { host: gitHost, baseUrl, dataDir } = builtIn;
  const outbox = createOutbox({
    url,
    db,
    log: silentLog,
    jobs: [],
    effects: {
      [createHookTopic]: createHook({ db, gitHost, baseUrl, now }),
      'audit.anchor': async () => {},
    },
  });
  await outbox.start();
  const deps: BootstrapDeps = {
    db,
    outbox,
    events: testEvents,
    log: silentLog,
    rows,
    now,
    gitHost,
    baseUrl,
    dataDir,
    appsDomain: 'apps.example.test',
    git: createGitClient({ workDir: join(dataDir, 'work'), path: process.env.PATH ?? '' }),
  };
  const routes = [...peopleRoutes, ...appRoutes, ...bootstrapRoutes(deps), ...tableRoutes];
  const server = await startServerCopy(database, now, routes);
  return {
    database,
    deps,
    server,
    async stop() {
      await builtIn.stop();
      await outbox.stop();
      await server.stop();
    },
  };
}

/** A tenant with a template of its own, whose repository has one page. */
export async function newWorld({ database, deps, server }: BootstrapEnv) {
  const { tenant, admin, member } = await newTenant(database.db);
  const login = await loginHeaders(database, member);
  const adminLogin = await loginHeaders(database, admin);
  const base = `/api/v1/tenants/${tenant.slug}`;
  const template = await newTemplate(deps, { tenant, person: admin });
  const look = async (id: string, headers = login) =>
    (await server.call(headers, 'GET', `${base}/bootstraps/${id}`)).body;
  return {
    tenant,
    admin,
    member,
    login,
    adminLogin,
    base,
    template,
    look,
    async start(body: Record<string, unknown> = {}) {
      const input = { template, slug: newSlug(), ...body };
      const { status, body: run } = await server.call(login, 'POST', `${base}/bootstraps`, input);
      if (status !== 201) throw new Error(`POST bootstraps: ${JSON.stringify(run)}`);
      return run;
    },
    installation: async () => (await deps.gitHost.installationOfOwner(tenant.slug))?.id ?? 0,
    /** Runs a worker until the run has ended. Deployments become live, or fail with `failure`. */
    async finish(id: string, { deps: own = deps, failure }: { deps?: BootstrapDeps; failure?: string } = {}) {
      const deployments = settleDeployments(deps, tenant.id, failure);
      try {
        return await withWorker(own, () => runEnd(() => look(id, adminLogin)));
      } finally {
        deployments.stop();
      }
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of all shapes.
export function runEnd(look: () => Promise<any>): Promise<any> {
  return until(async () => {
    const run = await look();
    return run.ended_at !== null && run;
  });
}

export const newSlug = () => `s-${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}`;

interface NewRepository {
  tenant: TenantAccess;
  person: Caller;
  files?: Record<string, string>;
  name?: string;
}

const page = { 'index.html': '<h1>Hello</h1>', 'css/site.css': 'h1 { color: teal }' };

export async function newRepository(
  { db, gitHost, git, dataDir }: BootstrapDeps,
  { tenant, person, files = page, name = newSlug() }: NewRepository,
): Promise<{ owner: string; name: string }> {
  const userToken = await hostToken({ db }, person);
  const installation = await gitHost.installationOfOwner(tenant.slug);
  if (!installation) throw new Error('The tenant has no installation.');
  const client = gitHost.asInstallation(installation.id);
  const request = { owner: installation.account, name, isPrivate: true, description: '', userToken };
  const { owner } = await client.createRepository(request);
  const folder = join(dataDir, 'sources', name);
  for (const [path, text] of Object.entries(files)) await Bun.write(join(folder, path), text);
  const to = { url: gitHost.remoteUrl({ owner, name }), ...(await client.credentials()) };
  const [author, signal] = [{ name: 'Test', email: 'test@example.test' }, new AbortController().signal];
  await git.pushFirst({ to, branch: 'main', folder, author, message: 'A page', at: new Date(), signal });
  return { owner, name };
}

export async function newTemplate(deps: BootstrapDeps, repository: NewRepository): Promise<string> {
  const { owner, name } = await newRepository(deps, repository);
  const id = Bun.randomUUIDv7();
  await sql`
    insert into svc.templates (id, tenant_id, name, description, framework, deploy_method, repository, added_by, created_at)
    values (${id}, ${repository.tenant.id}, 'A page', '', 'html', 'static', ${`${owner}/${name}`},
      ${repository.person.userId}, now())`.execute(deps.db);
  return id;
}

/** Runs a worker that waits neither for a back-off nor for its next poll. */
export async function withWorker<T>(deps: BootstrapDeps, work: () => Promise<T>): Promise<T> {
  const worker = createBootstrapWorker(deps);
  worker.start();
  const timer = setInterval(() => {
    void sql`update svc.bootstrap_runs set next_try_at = null where next_try_at is not null`
      .execute(deps.db)
      .then(worker.wake)
      .catch(() => {});
  }, 100);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await worker.stop();
  }
}

/** Ends queued deployments of the tenant, as live or with the failure, until it is stopped. */
export function settleDeployments({ db }: BootstrapDeps, tenantId: string, failure: string | null = null) {
  const timer = setInterval(() => {
    void sql`
      update svc.deployments set state = ${failure === null ? 'live' : 'failed'}, ended_at = now(),
        failure_code = ${failure}, failure_detail = ${failure === null ? null : 'It did not work.'}
      where tenant_id = ${tenantId} and state = 'queued'`
      .execute(db)
      .catch(() => {});
  }, 50);
  return { stop: () => clearInterval(timer) };
}

type Call = keyof GitHostInstallation | keyof GitHostUser | keyof GitClient;
/** Called before and after each call of the git host or of git, which waits for it and fails if it throws. */
export type Watch = (call: Call, when: 'before' | 'after', args: unknown[]) => Promise<void> | void;

export function watchCalls(deps: BootstrapDeps, watch: Watch): BootstrapDeps {
  const wrap = <T extends object>(client: T): T =>
    new Proxy(client, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]) => {
          await watch(name as Call, 'before', args);
          const result: unknown = await value.apply(target, args);
          await watch(name as Call, 'after', args);
          return result;
        };
      },
    });
  const { gitHost, git } = deps;
  return {
    ...deps,
    git: wrap(git),
    gitHost: {
      ...gitHost,
      asUser: (token) => wrap(gitHost.asUser(token)),
      asInstallation: (id, repo) => wrap(gitHost.asInstallation(id, repo)),
    },
  };
}

/** The number of rows of each kind that a run has created. */
export async function countCreated(
  { db }: BootstrapDeps,
  { tenant }: { tenant: TenantAccess },
  slug: string,
) {
  const ofApp = sql`join svc.apps a on a.id = x.app_id where a.tenant_id = ${tenant.id} and a.slug = ${slug}`;
  const { rows } = await sql<Record<string, number>>`
    select (select count(*) from svc.apps where tenant_id = ${tenant.id} and slug = ${slug}) as apps,
      (select count(*) from svc.git_host_repos where tenant_id = ${tenant.id} and name = ${slug}) as repositories,
      (select count(*) from svc.git_connections x ${ofApp}) as connections,
      (select count(*) from svc.git_host_hooks h join svc.git_host_repos r on r.id = h.repo_id
        where r.tenant_id = ${tenant.id} and r.name = ${slug}) as hooks,
      (select count(*) from svc.deployments x ${ofApp}) as deployments`.execute(db);
  return rows[0];
}
