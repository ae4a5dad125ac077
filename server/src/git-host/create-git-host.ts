import type { Logger } from 'pino';
import { type Failure, fail } from '../plumbing/problem.ts';
import { sealingKey } from '../plumbing/seal.ts';
import type { Handle } from '../plumbing/serve.ts';
import { builtInCredentials } from './built-in-credentials.ts';
import { createHookDeliveries } from './deliver-hooks.ts';
import { createDeviceFlow } from './device-flow.ts';
import { createDevicePage } from './device-page.ts';
import type { GitHostParts } from './git-host-parts.ts';
import { createGitProcesses } from './git-processes.ts';
import { accessTokenPath, apiPrefix, deviceCodePath, devicePath, gitHostUrls } from './paths.ts';
import { openRepositoryFolders } from './repository-folders.ts';
import { createRepositoryPage, repositoryPath } from './repository-page.ts';
import { createRestApi } from './rest-api.ts';
import { tokenKey } from './signed-token.ts';
import { createSmartHttp } from './smart-http.ts';
import { parseSmartHttpPath } from './smart-http-path.ts';

export interface GitHostService {
  handle: Handle;
  parts: GitHostParts;
  stop(): Promise<void>;
}

type Given = Pick<
  GitHostParts,
  'db' | 'now' | 'baseUrl' | 'outbox' | 'onCommitted' | 'findCredential' | 'authenticate' | 'tenantAccess'
>;

/** The git host that is built in: what stands below `/git/`. */
export async function createGitHost(
  given: Given & {
    dataDir: string;
    log: Logger;
    /** Where the server reaches itself; by its address for people where that is not said. */
    reachedAt?: string;
  },
): Promise<GitHostService> {
  const { db, log, baseUrl } = given;
  const hookKey = await sealingKey(db, 'git_host.hook_key');
  const deliveries = createHookDeliveries({
    db,
    hookKey,
    log,
    own: { baseUrl, reachedAt: given.reachedAt ?? baseUrl },
  });
  const git = createGitProcesses();
  const parts: GitHostParts = {
    ...given,
    urls: gitHostUrls(given.baseUrl),
    app: await builtInCredentials(db),
    hookKey,
    tokenKey: await tokenKey(db),
    git,
    folders: openRepositoryFolders(given.dataDir, git),
    wakeDeliveries: deliveries.wake,
  };
  const rest = createRestApi(parts);
  const deviceFlow = createDeviceFlow(parts);
  const devicePage = createDevicePage(parts);
  const smartHttp = createSmartHttp(parts);
  const repositoryPage = createRepositoryPage(parts);
  deliveries.start();

  return {
    parts,
    stop: deliveries.stop,
    async handle(request, url, info) {
      const path = url.pathname;
      info.setRoute('git');
      if (path.startsWith(apiPrefix)) return rest(request, url, info);
      if (path === devicePath) return devicePage(request, url, info);
      if (path === deviceCodePath || path === accessTokenPath) return deviceFlow(request, url, info);
      const asked = parseSmartHttpPath(url);
      if (asked) return smartHttp(request, info, asked);
      const page = repositoryPath(url);
      if (page) return repositoryPage(request, url, info, page);
      throw noSuchPath();
    },
  };
}

function noSuchPath(): Failure {
  return fail('not_found', { detail: 'No such path.' });
}
