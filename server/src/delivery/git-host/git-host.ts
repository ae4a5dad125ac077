import type { Logger } from 'pino';
import type { Job } from '../../core/jobs.ts';
import type { LiveKey } from '../../core/keys.ts';
import { fail } from '../../core/problem.ts';
import type { GitLauncher } from '../../drivers/git/git-launcher.ts';
import type { RequestHandler } from '../../http/handlers.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import type { BuiltInCredentials, GitHostDeps } from './deps.ts';
import { createDeviceFlow } from './device-flow.ts';
import { createGitProcesses } from './git-processes.ts';
import { createHookDeliveries } from './hooks.ts';
import {
  deleteOldDeliveries,
  findRepoWithRefs,
  listRepoFolders,
  listUnfinishedPushes,
  markPushFinished,
} from './host-store.ts';
import { createDevicePage, createRepositoryPage, parseRepositoryPath } from './pages.ts';
import {
  accessTokenPath,
  apiPrefix,
  deviceCodePath,
  devicePath,
  gitHostUrls,
  parseSmartHttpPath,
} from './paths.ts';
import { notifyPushes } from './pushes.ts';
import { openRepositoryFolders } from './repositories.ts';
import { createRestApi } from './rest-api.ts';
import { createSmartHttp } from './smart-http.ts';
import { deleteExpiredTokens, deleteOldDeviceCodes } from './tokens.ts';

export interface GitHostService {
  handle: RequestHandler;
  deps: GitHostDeps;
  stop(): Promise<void>;
}

type GitHostOptions = Pick<
  GitHostDeps,
  | ('db' | 'now' | 'baseUrl' | 'outbox' | 'onCommitted' | 'events' | 'connectedApps')
  | ('findCredential' | 'authenticate' | 'tenantAccess')
> & {
  app: LiveKey<BuiltInCredentials>;
  dataDir: string;
  log: Logger;
  internalUrl?: string;
  launcher?: GitLauncher;
};

export function createGitHost(options: GitHostOptions): GitHostService {
  const { db, log, baseUrl } = options;
  const deliveries = createHookDeliveries({
    db,
    log,
    own: { baseUrl, internalUrl: options.internalUrl ?? baseUrl },
  });
  const git = createGitProcesses(options.launcher);
  const deps: GitHostDeps = {
    ...options,
    urls: gitHostUrls(options.baseUrl),
    git,
    folders: openRepositoryFolders(options.dataDir, git, options.launcher),
    wakeDeliveries: deliveries.wake,
  };
  const rest = createRestApi(deps);
  const deviceFlow = createDeviceFlow(deps);
  const devicePage = createDevicePage(deps);
  const smartHttp = createSmartHttp(deps);
  const repositoryPage = createRepositoryPage(deps);
  deliveries.start();

  return {
    deps,
    stop: deliveries.stop,
    async handle(request, url, info) {
      const path = url.pathname;
      info.setRoute('git');
      if (path.startsWith(apiPrefix)) return rest(request, url, info);
      if (path === devicePath) return devicePage(request, url, info);
      if (path === deviceCodePath || path === accessTokenPath) return deviceFlow(request, url, info);
      const gitRequest = parseSmartHttpPath(url);
      if (gitRequest) return smartHttp(request, info, gitRequest);
      const page = parseRepositoryPath(url);
      if (page) return repositoryPage(request, url, info, page);
      throw fail('not_found', { detail: 'No such path.' });
    },
  };
}

const hourMs = 3600_000;
/** A push older than the minimum may be unfinished; one older than the maximum cannot be running any more. */
const pushMsMin = 60_000;
const pushMsMax = hourMs;
const deliveryRetentionMs = 7 * 24 * hourMs;

export function gitHostJobs(deps: () => GitHostDeps | null): Job[] {
  const run = (job: (deps: GitHostDeps) => Promise<void>) => async () => {
    const found = deps();
    if (found) await job(found);
  };
  return [
    { name: 'gitHost.tellPushes', cron: '* * * * *', run: run(notifyUnfinishedPushes) },
    { name: 'gitHost.sweep', cron: '42 * * * *', run: run(cleanUpGitHost) },
  ];
}

export async function notifyUnfinishedPushes(deps: GitHostDeps): Promise<void> {
  const now = deps.now().getTime();
  let failure: unknown;
  const { slug } = deps.app.current();
  const pusher = { id: 0, login: `${slug}[bot]`, email: `${slug}@localhost` };
  for (const { id, push_begun_at } of await listUnfinishedPushes(deps.db, new Date(now - pushMsMin))) {
    const isOver = push_begun_at.getTime() < now - pushMsMax;
    const startedAt = isOver ? push_begun_at : new Date(0);
    try {
      await notifyPushes(deps, { repoId: id, pusher });
      await recordMissedPush(deps, id, push_begun_at);
      await markPushFinished(deps.db, id, startedAt);
    } catch (error) {
      failure = error;
    }
  }
  if (failure !== undefined) throw failure;
}

/** Records the deployments of a push whose changes are known, but whose server recorded none. */
async function recordMissedPush({ db, connectedApps }: GitHostDeps, id: number, startedAt: Date) {
  const repo = await findRepoWithRefs(db, id);
  if (!repo?.pushed_at || repo.pushed_at < startedAt) return;
  const owner = await findTenant({ db }, { ref: repo.tenant_id });
  if (!owner) return;
  await connectedApps.recordMissed({ owner, repo, refs: repo.refs, pushedAt: repo.pushed_at });
}

async function cleanUpGitHost(deps: GitHostDeps): Promise<void> {
  const { db, folders } = deps;
  const now = deps.now();
  const ago = (ms: number) => new Date(now.getTime() - ms);
  await deleteExpiredTokens(db, now);
  await deleteOldDeviceCodes(db, ago(hourMs));
  await deleteOldDeliveries(db, ago(deliveryRetentionMs));
  // Listed before the rows are read, so that a repository created meanwhile is not removed.
  const present = await folders.listOlderThan(ago(hourMs));
  const known = await listRepoFolders(db);
  for (const folder of present) if (!known.has(folder)) await folders.remove(folder);
}
