import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { gitSetupPath } from '@svc/contract/git-host.ts';
import { ConfigError } from '../../core/config-error.ts';
import { fixedKey, type LiveKey } from '../../core/keys.ts';
import type { GitHost } from './git-host.ts';
import { createOctokitGitHost } from './octokit-git-host.ts';

interface GitHostSettings {
  gitHost: GitHostConfig;
  baseUrl: string;
  host: string;
  port: number;
}

export type GitHostConfig = { kind: 'built-in' } | GitHubConfig;

interface GitHubConfig {
  kind: 'github';
  webUrl: string;
  apiUrl: string;
  clientId: string;
  appId: string;
  slug: string;
  privateKeyFile: string;
  webhookSecret: string;
}

export interface BuiltInCredentials {
  appId: number;
  clientId: string;
  privateKey: string;
  webhookSecret: string;
}

export async function openGitHost(
  config: GitHostSettings,
  { builtIn }: { builtIn: LiveKey<BuiltInCredentials> },
): Promise<GitHost> {
  const { gitHost, baseUrl } = config;
  if (gitHost.kind === 'github') return openGitHub(gitHost);
  const own = `${localUrl(config)}/git`;
  return createOctokitGitHost({
    credentials: {
      current: () => appCredentials(builtIn.current()),
      accepted: () => builtIn.accepted().map(appCredentials),
    },
    isBuiltIn: true,
    webUrl: `${baseUrl}/git`,
    loginUrl: own,
    apiUrl: `${own}/api/v3`,
    installUrl: (state) => `${baseUrl}${gitSetupPath}?${new URLSearchParams({ state })}`,
  });
}

const appCredentials = ({ appId, ...more }: BuiltInCredentials) => ({ ...more, appId: String(appId) });

export function localUrl({ host, port }: { host: string; port: number }): string {
  if (host === '0.0.0.0' || host === '') return `http://127.0.0.1:${port}`;
  if (host === '::') return `http://[::1]:${port}`;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function openGitHub(config: GitHubConfig): GitHost {
  const { webUrl, slug } = config;
  const apps = /^https:\/\/(github\.com|[^/]+\.ghe\.com)$/.test(webUrl) ? 'apps' : 'github-apps';
  try {
    return createOctokitGitHost({
      ...config,
      loginUrl: webUrl,
      isBuiltIn: false,
      credentials: fixedKey({ ...config, privateKey: readFileSync(config.privateKeyFile, 'utf8') }),
      installUrl: (state) => `${webUrl}/${apps}/${slug}/installations/new?${new URLSearchParams({ state })}`,
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const problem = `must name a file with the private key of the app: ${why}`;
    throw new ConfigError('SVC_GIT_HOST_PRIVATE_KEY_FILE', problem);
  }
}
