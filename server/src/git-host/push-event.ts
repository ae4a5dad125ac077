import { botAnswer, organizationAnswer, repositoryAnswer, userAnswer } from './answers.ts';
import type { GitHostParts } from './git-host-parts.ts';
import type { PushCommit, PushEvent } from './github-types.ts';
import { type GitCommit, isAncestor, readCommits } from './read-repository.ts';
import type { RepoRow } from './repos-store.ts';

export interface Pusher {
  /** 0: the app of the host itself. */
  id: number;
  login: string;
  email: string;
}

export interface RefChange {
  ref: string;
  /** Null: it was not there. */
  before: string | null;
  /** Null: it is gone. */
  after: string | null;
}

const noCommit = '0'.repeat(40);
const commitsMax = 20;

/** What hooks are told of one branch or tag that a push has changed. */
export async function pushEvent(
  parts: Pick<GitHostParts, 'git' | 'folders' | 'urls' | 'app'>,
  change: RefChange,
  { repo, owner, pusher }: { repo: RepoRow; owner: { slug: string; installationId: number }; pusher: Pusher },
): Promise<PushEvent> {
  const { urls, git } = parts;
  const folder = parts.folders.pathOf(repo.folder);
  const { ref, before, after } = change;
  const fullName = `${owner.slug}/${repo.name}`;
  const told = (commit: GitCommit) => pushCommit(`${urls.web}/${fullName}/commit/`, commit);
  const newest = after === null ? [] : await readCommits(git, folder, { sha: after, max: 1 });
  const range = { sha: after ?? '', max: commitsMax, ...(before === null ? {} : { not: before }) };
  const commits = after === null ? [] : await readCommits(git, folder, range);
  const isForced =
    before !== null && after !== null && !(await isAncestor(git, folder, { of: after, is: before }));
  const { permissions: _, ...repository } = repositoryAnswer(urls, { repo, owner, canPush: false });
  const organization = organizationAnswer(urls, owner);
  return {
    ref,
    before: before ?? noCommit,
    after: after ?? noCommit,
    created: before === null,
    deleted: after === null,
    forced: isForced,
    base_ref: null,
    compare: `${urls.web}/${fullName}/compare/${(before ?? noCommit).slice(0, 12)}...${(after ?? noCommit).slice(0, 12)}`,
    // The oldest first.
    commits: commits.map(told).reverse(),
    head_commit: newest[0] ? told(newest[0]) : null,
    pusher: { name: pusher.login, email: pusher.email },
    repository,
    organization: { login: organization.login, id: organization.id },
    sender: pusher.id === 0 ? botAnswer(urls, parts.app) : userAnswer(urls, pusher),
    installation: { id: owner.installationId, node_id: '' },
  };
}

function pushCommit(webUrl: string, { sha, tree, message, author, committer }: GitCommit): PushCommit {
  return {
    id: sha,
    tree_id: tree,
    distinct: true,
    message,
    timestamp: committer.date,
    url: `${webUrl}${sha}`,
    author: { name: author.name, email: author.email },
    committer: { name: committer.name, email: committer.email },
  };
}
