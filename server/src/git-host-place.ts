import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { gitSetupPath } from '@svc/contract/git-host.ts';
import { type Config, ConfigError, type GitHubConfig } from './config.ts';
import type { GitHost } from './drivers/git-host/git-host.ts';
import { createOctokitGitHost } from './drivers/git-host/octokit-git-host.ts';
import type { BuiltInCredentials } from './git-host/built-in-credentials.ts';

type Place = Pick<Config, 'gitHost' | 'baseUrl' | 'host' | 'port'>;

/** `builtIn` is asked only where the host is the platform's own. */
export async function openGitHost(
  config: Place,
  { builtIn }: { builtIn: () => Promise<BuiltInCredentials> },
): Promise<GitHost> {
  const { gitHost, baseUrl } = config;
  if (gitHost.kind === 'github') return openGitHub(gitHost);
  const own = `${ownAddress(config)}/git`;
  const app = await builtIn();
  return createOctokitGitHost({
    ...app,
    appId: String(app.appId),
    isBuiltIn: true,
    webUrl: `${baseUrl}/git`,
    loginUrl: own,
    apiUrl: `${own}/api/v3`,
    // It is installed for everybody from the beginning.
    installUrl: (state) => `${baseUrl}${gitSetupPath}?${new URLSearchParams({ state })}`,
  });
}

/** Where this copy of the server reaches itself, whatever stands in front of it. */
export function ownAddress({ host, port }: Pick<Config, 'host' | 'port'>): string {
  if (host === '0.0.0.0' || host === '') return `http://127.0.0.1:${port}`;
  if (host === '::') return `http://[::1]:${port}`;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function openGitHub(config: GitHubConfig): GitHost {
  const { webUrl, apiUrl, slug } = config;
  const apps = /^https:\/\/(github\.com|[^/]+\.ghe\.com)$/.test(webUrl) ? 'apps' : 'github-apps';
  try {
    return createOctokitGitHost({
      ...config,
      ...{ webUrl, apiUrl, loginUrl: webUrl, isBuiltIn: false },
      privateKey: readFileSync(config.privateKeyFile, 'utf8'),
      installUrl: (state) => `${webUrl}/${apps}/${slug}/installations/new?${new URLSearchParams({ state })}`,
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError('SVC_GIT_HOST_PRIVATE_KEY_FILE', `names no private key of an app: ${why}`);
  }
}
