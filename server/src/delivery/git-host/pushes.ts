import { gitWebhookPath } from '@svc/contract/git-host.ts';
import { isGitRef } from '@svc/contract/git-names.ts';
import type { Tx } from '../../core/db.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { getTenantInstallation } from './accounts-store.ts';
import type { GitHostDeps } from './deps.ts';
import type { PushCommit, PushEvent } from './github-types.ts';
import { insertDelivery, listHookRows } from './hooks-store.ts';
import { type GitCommit, isAncestor, readCommits, readRefs } from './read-repository.ts';
import { lockRepoForUpdate, type Refs, type RepoRow, saveRefs } from './repos-store.ts';
import { botJson, organizationJson, repositoryJson, userJson } from './responses.ts';

const reportedChangesMax = 20;

/**
 * The row lock makes each change reported once. Changes of an interrupted push are reported with the next
 * push or by the job.
 */
export async function notifyPushes(
  deps: Pick<GitHostDeps, 'db' | 'git' | 'folders' | 'urls' | 'baseUrl' | 'app' | 'now' | 'wakeDeliveries'>,
  { repoId, pusher }: { repoId: number; pusher: Pusher },
): Promise<RefChange[]> {
  const tx = await deps.db.startTransaction().execute();
  let changes: RefChange[] = [];
  try {
    const repo = await lockRepoForUpdate(tx, repoId);
    if (repo) {
      const refs = await readRefs(deps.git, deps.folders.path(repo.folder));
      changes = diffRefs(repo.refs, refs);
      if (changes.length > 0) await recordChanges(deps, tx, { repo, refs, changes, pusher });
    }
    await tx.commit().execute();
  } catch (error) {
    await tx
      .rollback()
      .execute()
      .catch(() => {});
    throw error;
  }
  if (changes.length > 0) deps.wakeDeliveries();
  return changes;
}

async function recordChanges(
  deps: Parameters<typeof notifyPushes>[0],
  tx: Tx,
  { repo, refs, changes, pusher }: { repo: RepoRow; refs: Refs; changes: RefChange[]; pusher: Pusher },
): Promise<void> {
  const now = deps.now();
  const defaultBranch = chooseDefaultBranch(repo.default_branch, refs);
  if (defaultBranch !== repo.default_branch) {
    const folder = deps.folders.path(repo.folder);
    await deps.git.read(folder, ['symbolic-ref', '--', 'HEAD', `refs/heads/${defaultBranch}`]);
  }
  await saveRefs(tx, repo.id, { refs, pushed_at: now, default_branch: defaultBranch });
  const hooks = (await listHookRows(tx, repo.id)).filter(
    (hook) => hook.is_active && (hook.events.includes('push') || hook.events.includes('*')),
  );
  if (hooks.length === 0) return;
  const slug = (await findTenant({ db: tx }, { ref: repo.tenant_id }))?.slug ?? '';
  const owner = { slug, installationId: (await getTenantInstallation(tx, repo.tenant_id)).id };
  const pushed = { ...repo, pushed_at: now, default_branch: defaultBranch };
  for (const change of changes.slice(0, reportedChangesMax)) {
    const payload = JSON.stringify(await buildPushEvent(deps, change, { repo: pushed, owner, pusher }));
    for (const hook of hooks) {
      const id = await insertDelivery(tx, { hook_id: hook.id, event: 'push', payload }, now);
      if (hook.url === `${deps.baseUrl}${gitWebhookPath}`) change.deliveryId = id;
    }
  }
}

export function diffRefs(before: Refs, after: Refs): RefChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names
    .map((ref): RefChange => ({ ref, before: before[ref] ?? null, after: after[ref] ?? null }))
    .filter((change) => change.before !== change.after);
}

export function chooseDefaultBranch(known: string, refs: Refs): string {
  if (Object.hasOwn(refs, `refs/heads/${known}`)) return known;
  const branches = Object.keys(refs)
    .filter((ref) => ref.startsWith('refs/heads/'))
    .map((ref) => ref.slice('refs/heads/'.length))
    .filter(isGitRef);
  return branches.find((name) => name === 'main' || name === 'master') ?? branches[0] ?? known;
}

export interface Pusher {
  /** 0 for the platform's app. */
  id: number;
  login: string;
  email: string;
}

export interface RefChange {
  ref: string;
  before: string | null;
  after: string | null;
  /** Of the delivery to this server's own webhook. */
  deliveryId?: string;
}

export const noCommit = '0'.repeat(40);
const commitsMax = 20;

async function buildPushEvent(
  deps: Pick<GitHostDeps, 'git' | 'folders' | 'urls' | 'app'>,
  change: RefChange,
  { repo, owner, pusher }: { repo: RepoRow; owner: { slug: string; installationId: number }; pusher: Pusher },
): Promise<PushEvent> {
  const { urls, git } = deps;
  const folder = deps.folders.path(repo.folder);
  const { ref, before, after } = change;
  const fullName = `${owner.slug}/${repo.name}`;
  const toPushCommit = (commit: GitCommit) => pushCommit(`${urls.web}/${fullName}/commit/`, commit);
  const newest = after === null ? [] : await readCommits(git, folder, { sha: after, max: 1 });
  const range = { sha: after ?? '', max: commitsMax, not: before ?? undefined };
  const commits = after === null ? [] : await readCommits(git, folder, range);
  const isForced =
    before !== null && after !== null && !(await isAncestor(git, folder, { ancestor: before, of: after }));
  const { permissions: _, ...repository } = repositoryJson(urls, { repo, owner, canPush: false });
  const organization = organizationJson(urls, owner);
  return {
    ref,
    before: before ?? noCommit,
    after: after ?? noCommit,
    created: before === null,
    deleted: after === null,
    forced: isForced,
    base_ref: null,
    compare: `${urls.web}/${fullName}/compare/${(before ?? noCommit).slice(0, 12)}...${(after ?? noCommit).slice(0, 12)}`,
    commits: commits.map(toPushCommit).reverse(),
    head_commit: newest[0] ? toPushCommit(newest[0]) : null,
    pusher: { name: pusher.login, email: pusher.email },
    repository,
    organization: { login: organization.login, id: organization.id },
    sender: pusher.id === 0 ? botJson(urls, deps.app.current()) : userJson(urls, pusher),
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
