import { Octokit } from '@octokit/rest';
import { gitCommitPattern, gitRepoPattern, isGitRef } from '@svc/contract/git-names.ts';
import { CommitAnswer, ContentAnswer, RepositoryAnswer, TreeAnswer } from './answers.ts';
import { askForSome, askHost, boundedFetch, HostRefusal } from './ask-host.ts';
import type { RepoName, RepositoryReader } from './git-host.ts';

export function octokitWith(apiUrl: string, token?: string): Octokit {
  return new Octokit({
    baseUrl: apiUrl,
    ...(token === undefined ? {} : { auth: token }),
    userAgent: 'svc',
    request: { fetch: boundedFetch },
    log: quiet,
  });
}

/** Nothing of what Octokit has to say is ours: it could tell an address with what is secret in it. */
const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Whether these can be parts of a path at all; what can not is not there. */
export function isRepo({ owner, name }: RepoName): boolean {
  return gitRepoPattern.test(`${owner}/${name}`);
}

const isRef = (ref: string) => isGitRef(ref) || gitCommitPattern.test(ref);
const isPath = (path: string) =>
  path !== '' && !path.split('/').some((part) => part === '' || part === '.' || part === '..');

/** Without the parts that a token of its own is needed for. `with`: the credential of the moment. */
export function createReader(withOctokit: () => Promise<Octokit>): RepositoryReader {
  const reader: RepositoryReader = {
    async repository(repo) {
      if (!isRepo(repo)) return null;
      const octokit = await withOctokit();
      const found = await askForSome(RepositoryAnswer, () => octokit.rest.repos.get(named(repo)));
      // Its size is told in kilobytes and late: only its branch tells whether there is something in it.
      if (found?.isEmpty) found.isEmpty = await hasNoCommit(octokit, repo, found.defaultBranch);
      return found;
    },
    async commit(repo, ref) {
      if (!isRepo(repo) || !isRef(ref)) return null;
      const octokit = await withOctokit();
      const ask = () => octokit.rest.repos.getCommit({ ...named(repo), ref });
      return askForSome(CommitAnswer, ask, [403, 404, 409, 422]);
    },
    async tree(repo, treeSha) {
      if (!isRepo(repo) || !gitCommitPattern.test(treeSha)) return { entries: [], isWhole: true };
      const octokit = await withOctokit();
      const ask = () => octokit.rest.git.getTree({ ...named(repo), tree_sha: treeSha, recursive: '1' });
      return (await askForSome(TreeAnswer, ask, [403, 404, 409])) ?? { entries: [], isWhole: true };
    },
    async readFile(repo, { path, ref, bytesMax }) {
      if (!isRepo(repo) || !isRef(ref) || !isPath(path)) return null;
      const octokit = await withOctokit();
      const found = await askForSome(ContentAnswer, () =>
        octokit.rest.repos.getContent({ ...named(repo), path, ref }),
      );
      if (found?.type !== 'file' || found.size > bytesMax || found.encoding !== 'base64') return null;
      return Buffer.from(found.content ?? '', 'base64').toString('utf8');
    },
  };
  return reader;
}

export const named = ({ owner, name }: RepoName) => ({ owner, repo: name });

async function hasNoCommit(octokit: Octokit, repo: RepoName, branch: string): Promise<boolean> {
  try {
    await askHost(CommitAnswer, () => octokit.rest.repos.getCommit({ ...named(repo), ref: branch }));
    return false;
  } catch (error) {
    if (error instanceof HostRefusal && error.status === 409) return true;
    if (error instanceof HostRefusal && [403, 404, 422].includes(error.status)) return false;
    throw error;
  }
}
