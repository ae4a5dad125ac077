import { z } from 'zod';
import { HookAnswer, HooksAnswer, RepositoryAnswer } from './answers.ts';
import { askForSome, askHost, HostRefusal, unavailable } from './ask-host.ts';
import { type GitHostInstallation, type RepoName, RepositoryRefused } from './git-host.ts';
import { createReader, isRepo, named, octokitWith } from './repository-reader.ts';

const perPage = 100;
const pagesMax = 10;

export function createInstallation({
  apiUrl,
  webhookSecret,
  token,
}: {
  apiUrl: string;
  webhookSecret: string;
  /** Kept while it is good; asked for anew each time. */
  token: () => Promise<string>;
}): GitHostInstallation {
  const octokit = async () => octokitWith(apiUrl, await token());
  const reader = createReader(octokit);

  async function findHook(repo: RepoName, url: string): Promise<{ id: number } | null> {
    const { rest } = await octokit();
    for (let page = 1; page <= pagesMax; page++) {
      const hooks = await askHost(HooksAnswer, () =>
        rest.repos.listWebhooks({ ...named(repo), page, per_page: perPage }),
      );
      const found = hooks.find((hook) => hook.config.url === url);
      if (found) return { id: found.id };
      if (hooks.length < perPage) break;
    }
    return null;
  }

  return {
    repository: (repo) => ours(reader.repository(repo)),
    commit: (repo, ref) => ours(reader.commit(repo, ref)),
    tree: (repo, sha) => ours(reader.tree(repo, sha)),
    readFile: (repo, file) => ours(reader.readFile(repo, file)),
    async createRepository({ owner, name, isPrivate, description, userToken }) {
      if (!isRepo({ owner: owner.login, name }))
        throw new RepositoryRefused('forbidden_by_org', 'It can not be the name of a repository.');
      const wanted = { name, private: isPrivate, description, auto_init: false };
      // By the person, in an organization too: what the app made by itself would be nobody's to push to.
      const { repos } = octokitWith(apiUrl, userToken).rest;
      const made = askHost(RepositoryAnswer, () =>
        owner.kind === 'organization'
          ? repos.createInOrg({ org: owner.login, ...wanted })
          : repos.createForAuthenticatedUser(wanted),
      );
      return made.catch((error: unknown) => {
        throw error instanceof HostRefusal ? refusedRepository(error) : error;
      });
    },
    findHook: (repo, url) => ours(findHook(repo, url)),
    createHook: (repo, url) =>
      ours(
        askHost(HookAnswer, async () =>
          (await octokit()).rest.repos.createWebhook({
            ...named(repo),
            name: 'web',
            active: true,
            events: ['push'],
            config: { url, content_type: 'json', secret: webhookSecret, insecure_ssl: '0' },
          }),
        ).then(({ id }) => ({ id })),
      ),
    async removeHook(repo, id) {
      // Nothing is said to it: there is no body.
      await ours(
        askForSome(
          z.unknown(),
          async () => (await octokit()).rest.repos.deleteWebhook({ ...named(repo), hook_id: id }),
          [404],
        ),
      );
    },
    credentials: async () => ({ username: 'x-access-token', password: await token() }),
  };
}

function refusedRepository({ status, answer }: HostRefusal): Error {
  const said = JSON.stringify(answer.errors ?? []);
  if (status === 422 && /already exists/i.test(said + answer.message))
    return new RepositoryRefused('repo_exists', 'A repository of this name is there already.');
  if (status === 403 || status === 404 || status === 422)
    return new RepositoryRefused('forbidden_by_org', `The git host refuses it: ${answer.message}`);
  return unavailable(`it refuses to make a repository (${status}).`);
}

async function ours<T>(asking: Promise<T>): Promise<T> {
  return asking.catch((error: unknown) => {
    if (error instanceof HostRefusal) throw unavailable(`it refuses the question: ${error.answer.message}`);
    throw error;
  });
}
