import { Octokit } from '@octokit/rest';
import { gitCommitPattern, gitRepoPattern, isGitRef } from '@svc/contract/git-names.ts';
import { z } from 'zod';
import {
  type GitHostInstallation,
  type RepoName,
  RepositoryError,
  type RepositoryReader,
} from './git-host.ts';
import {
  boundedFetch,
  CommitResponse,
  ContentResponse,
  callHost,
  callHostOrNull,
  HookResponse,
  HooksResponse,
  HostError,
  mapHostErrors,
  RepositoryResponse,
  TreeResponse,
  unavailableError,
} from './github-api.ts';

const perPage = 100;
const pagesMax = 10;

export function createInstallation({
  apiUrl,
  webhookSecret,
  token,
}: {
  apiUrl: string;
  webhookSecret: () => string;
  token: () => Promise<string>;
}): GitHostInstallation {
  const octokit = async () => createOctokit(apiUrl, await token());

  async function findHook(repo: RepoName, url: string): Promise<{ id: number } | null> {
    const { rest } = await octokit();
    for (let page = 1; page <= pagesMax; page++) {
      const hooks = await callHost(HooksResponse, () =>
        rest.repos.listWebhooks({ ...repoParams(repo), page, per_page: perPage }),
      );
      const found = hooks.find((hook) => hook.config.url === url);
      if (found) return { id: found.id };
      if (hooks.length < perPage) break;
    }
    return null;
  }

  return {
    ...createReader(octokit, mapErrors),
    async createRepository({ owner, name, isPrivate, description, userToken }) {
      if (!isRepoName({ owner: owner.login, name }))
        throw new RepositoryError('forbidden_by_org', 'Not a valid repository name.');
      const repository = { name, private: isPrivate, description, auto_init: false };
      // As the user, also in an organization: nobody could push to a repository that the app created.
      const { repos } = createOctokit(apiUrl, userToken).rest;
      const created = callHost(RepositoryResponse, () =>
        owner.kind === 'organization'
          ? repos.createInOrg({ org: owner.login, ...repository })
          : repos.createForAuthenticatedUser(repository),
      );
      return mapHostErrors(created, toRepositoryError);
    },
    findHook: (repo, url) => mapErrors(findHook(repo, url)),
    createHook: (repo, url) =>
      mapErrors(
        callHost(HookResponse, async () =>
          (await octokit()).rest.repos.createWebhook({
            ...repoParams(repo),
            name: 'web',
            active: true,
            events: ['push'],
            config: { url, content_type: 'json', secret: webhookSecret(), insecure_ssl: '0' },
          }),
        ).then(({ id }) => ({ id })),
      ),
    async removeHook(repo, id) {
      await mapErrors(
        callHostOrNull(
          z.unknown(),
          async () => (await octokit()).rest.repos.deleteWebhook({ ...repoParams(repo), hook_id: id }),
          [404],
        ),
      );
    },
    credentials: async () => ({ username: 'x-access-token', password: await token() }),
  };
}

function toRepositoryError({ status, answer }: HostError): Error {
  const errors = JSON.stringify(answer.errors ?? []);
  if (status === 422 && /already exists/i.test(errors + answer.message))
    return new RepositoryError('repo_exists', 'A repository with this name already exists.');
  if (status === 403 || status === 404 || status === 422)
    return new RepositoryError('forbidden_by_org', `The git host rejects it: ${answer.message}`);
  return unavailableError(`the repository could not be created (status ${status}).`);
}

function mapErrors<T>(request: Promise<T>): Promise<T> {
  return mapHostErrors(request, ({ answer }) => unavailableError(`request rejected: ${answer.message}`));
}

export function createOctokit(apiUrl: string, token?: string): Octokit {
  return new Octokit({
    baseUrl: apiUrl,
    auth: token,
    userAgent: 'svc',
    request: { fetch: boundedFetch },
    log: silentOctokitLog,
  });
}

/** Octokit's log could contain URLs with secrets. */
const silentOctokitLog = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export function isRepoName({ owner, name }: RepoName): boolean {
  return gitRepoPattern.test(`${owner}/${name}`);
}

const isRef = (ref: string) => isGitRef(ref) || gitCommitPattern.test(ref);
const isPath = (path: string) =>
  path !== '' && !path.split('/').some((part) => part === '' || part === '.' || part === '..');

export function createReader(
  withOctokit: () => Promise<Octokit>,
  mapErrors: <T>(request: Promise<T>) => Promise<T>,
): RepositoryReader {
  async function readRepository(repo: RepoName) {
    const octokit = await withOctokit();
    const found = await callHostOrNull(RepositoryResponse, () => octokit.rest.repos.get(repoParams(repo)));
    // The size is in kilobytes and updated late: only the branch shows whether the repository is empty.
    if (found?.isEmpty) found.isEmpty = await isEmptyBranch(octokit, repo, found.defaultBranch);
    return found;
  }
  const read = <T extends z.ZodType>(
    shape: T,
    question: (octokit: Octokit) => Promise<{ data: unknown }>,
    absent?: readonly number[],
  ) => mapErrors(callHostOrNull(shape, async () => question(await withOctokit()), absent));
  return {
    repository: async (repo) => (isRepoName(repo) ? mapErrors(readRepository(repo)) : null),
    async commit(repo, ref) {
      if (!isRepoName(repo) || !isRef(ref)) return null;
      const params = { ...repoParams(repo), ref };
      return read(CommitResponse, ({ rest }) => rest.repos.getCommit(params), [403, 404, 409, 422]);
    },
    async tree(repo, treeSha) {
      const empty = { entries: [], isWhole: true };
      if (!isRepoName(repo) || !gitCommitPattern.test(treeSha)) return empty;
      const params = { ...repoParams(repo), tree_sha: treeSha, recursive: '1' };
      return (await read(TreeResponse, ({ rest }) => rest.git.getTree(params), [403, 404, 409])) ?? empty;
    },
    async readFile(repo, { path, ref, bytesMax }) {
      if (!isRepoName(repo) || !isRef(ref) || !isPath(path)) return null;
      const params = { ...repoParams(repo), path, ref };
      const found = await read(ContentResponse, ({ rest }) => rest.repos.getContent(params));
      if (found?.type !== 'file' || found.size > bytesMax || found.encoding !== 'base64') return null;
      return Buffer.from(found.content ?? '', 'base64').toString('utf8');
    },
  };
}

export const repoParams = ({ owner, name }: RepoName) => ({ owner, repo: name });

async function isEmptyBranch(octokit: Octokit, repo: RepoName, branch: string): Promise<boolean> {
  try {
    await callHost(CommitResponse, () => octokit.rest.repos.getCommit({ ...repoParams(repo), ref: branch }));
    return false;
  } catch (error) {
    if (error instanceof HostError && error.status === 409) return true;
    if (error instanceof HostError && [403, 404, 422].includes(error.status)) return false;
    throw error;
  }
}
