import { createPrivateKey } from 'node:crypto';
import { createAppAuth } from '@octokit/auth-app';
import type { Octokit } from '@octokit/rest';
import { verify } from '@octokit/webhooks-methods';
import { z } from 'zod';
import { fail } from '../../plumbing/problem.ts';
import {
  AccountAnswer,
  AppAnswer,
  InstallationAnswer,
  InstallationsAnswer,
  RepositoriesAnswer,
} from './answers.ts';
import { askForSome, askHost, HostRefusal, unavailable } from './ask-host.ts';
import { createDeviceFlow } from './device-flow.ts';
import { type GitHost, type GitHostUser, type Installation, UserTokenRefused } from './git-host.ts';
import { createInstallation } from './octokit-installation.ts';
import { createReader, isRepo, named, octokitWith } from './repository-reader.ts';

export interface OctokitGitHostOptions {
  /** As people know it. */
  webUrl: string;
  /** As this server reaches it: the sign-in and the repositories, and the API. */
  loginUrl: string;
  apiUrl: string;
  isBuiltIn: boolean;
  installUrl: (state: string) => string;
  clientId: string;
  appId: string;
  privateKey: string;
  webhookSecret: string;
}

const perPage = 100;
const pagesMax = 20;

/** GitHub, and all that speak as it does. */
export function createOctokitGitHost(options: OctokitGitHostOptions): GitHost {
  const { webUrl, loginUrl, apiUrl, appId } = options;
  const anonymous = octokitWith(apiUrl);
  const deviceFlow = createDeviceFlow({ ...options, octokit: anonymous });
  const appAuth = createAppAuth({
    appId,
    privateKey: pkcs8(options.privateKey),
    request: anonymous.request,
    log: { warn: () => {} },
  });

  async function asApp(): Promise<Octokit> {
    const { token } = await appAuth({ type: 'app' });
    return octokitWith(apiUrl, token);
  }

  /** What is not there, is null; that the app itself is not known is a fault of the configuration. */
  async function askAsApp<T extends z.ZodType>(
    shape: T,
    question: (octokit: Octokit) => Promise<{ data: unknown }>,
  ): Promise<z.output<T> | null> {
    const octokit = await asApp();
    return askForSome(shape, () => question(octokit)).catch((error: unknown) => {
      if (error instanceof HostRefusal && error.status === 401)
        throw unavailable('it does not take the key of the app.');
      throw error;
    });
  }

  async function installationToken(id: number, repo?: { id: number }): Promise<string> {
    const limits = repo ? { repositoryIds: [repo.id] } : {};
    const asked = async () => ({
      data: await appAuth({ type: 'installation', installationId: id, ...limits }),
    });
    const { token } = await askHost(z.object({ token: z.string().min(1) }), asked).catch((error: unknown) => {
      if (error instanceof HostRefusal && error.status === 422 && repo)
        throw fail('not_found', { detail: 'The app of the git host does not reach the repository.' });
      if (error instanceof HostRefusal)
        throw unavailable(`it gives no token for the installation (${error.status}).`);
      throw error;
    });
    return token;
  }

  return {
    webUrl,
    isBuiltIn: options.isBuiltIn,
    beginDeviceFlow: deviceFlow.begin,
    pollDeviceFlow: deviceFlow.poll,
    refresh: deviceFlow.refresh,
    installUrl: options.installUrl,
    remoteUrl: ({ owner, name }) => `${loginUrl}/${owner}/${name}.git`,
    asUser: (token) => createUser(octokitWith(apiUrl, token)),
    installationOfRepo: async (repo) =>
      isRepo(repo)
        ? askAsApp(InstallationAnswer, ({ rest }) => rest.apps.getRepoInstallation(named(repo)))
        : null,
    installationOfOwner: async (owner) => {
      if (!isRepo({ owner, name: 'any' })) return null;
      return (
        (await askAsApp(InstallationAnswer, ({ rest }) => rest.apps.getOrgInstallation({ org: owner }))) ??
        askAsApp(InstallationAnswer, ({ rest }) => rest.apps.getUserInstallation({ username: owner }))
      );
    },
    installation: (id) =>
      askAsApp(InstallationAnswer, ({ rest }) => rest.apps.getInstallation({ installation_id: id })),
    asInstallation: (id, repo) =>
      createInstallation({
        ...options,
        token: () => installationToken(id, repo),
      }),
    isSigned: async (body, signature) => {
      if (signature === null || signature === '' || body === '') return false;
      return verify(options.webhookSecret, body, signature).catch(() => false);
    },
    check: async () => {
      try {
        const app = await askAsApp(AppAnswer, ({ rest }) => rest.apps.getAuthenticated());
        if (!app) return { ok: false, detail: `${webUrl} does not know the app.` };
        return { ok: true, detail: `${webUrl} knows us as ${app.slug ?? app.name}.` };
      } catch (error) {
        return { ok: false, detail: error instanceof Error ? error.message : String(error) };
      }
    },
  };
}

function createUser(octokit: Octokit): GitHostUser {
  const reader = createReader(async () => octokit);
  return {
    repository: (repo) => asPerson(reader.repository(repo)),
    commit: (repo, ref) => asPerson(reader.commit(repo, ref)),
    tree: (repo, sha) => asPerson(reader.tree(repo, sha)),
    readFile: (repo, file) => asPerson(reader.readFile(repo, file)),
    account: () => asPerson(askHost(AccountAnswer, () => octokit.rest.users.getAuthenticated())),
    installations: () => asPerson(allInstallations(octokit)),
    repositories: (installationId, { page, perPage: per_page }) =>
      asPerson(
        askForSome(RepositoriesAnswer, () =>
          octokit.rest.apps.listInstallationReposForAuthenticatedUser({
            installation_id: installationId,
            page,
            per_page,
          }),
        ).then((found) => found && { items: found.repositories, total: found.total_count }),
      ),
  };
}

/** By numbers of pages: addresses in headers may name the host as people know it, which we need not reach. */
async function allInstallations(octokit: Octokit): Promise<Installation[]> {
  const all: Installation[] = [];
  for (let page = 1; page <= pagesMax; page++) {
    const { installations, total_count } = await askHost(InstallationsAnswer, () =>
      octokit.rest.apps.listInstallationsForAuthenticatedUser({ page, per_page: perPage }),
    );
    all.push(...installations);
    if (installations.length === 0 || all.length >= total_count) break;
  }
  return all;
}

async function asPerson<T>(asking: Promise<T>): Promise<T> {
  return asking.catch((error: unknown) => {
    if (error instanceof HostRefusal && error.status === 401) throw new UserTokenRefused();
    if (error instanceof HostRefusal) throw unavailable(`it refuses the question (${error.status}).`);
    throw error;
  });
}

/** GitHub gives out keys in another form than the one that can be signed with everywhere. */
function pkcs8(pem: string): string {
  return createPrivateKey(pem).export({ type: 'pkcs8', format: 'pem' }).toString();
}
