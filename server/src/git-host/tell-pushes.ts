import { isGitRef } from '@svc/contract/git-names.ts';
import type { Tx } from '../plumbing/db.ts';
import { findTenant } from '../tenants/find-tenant.ts';
import { installationOfTenant } from './accounts-store.ts';
import type { GitHostParts } from './git-host-parts.ts';
import { insertDelivery, listHookRows } from './hooks-store.ts';
import { type Pusher, pushEvent, type RefChange } from './push-event.ts';
import { readRefs } from './read-repository.ts';
import { keepRefs, lockRefs, notePushEnded, type Refs, type RepoRow } from './repos-store.ts';

/** Of a push of more than these, hooks are told the first. */
const changesToldMax = 20;

/**
 * Compares a repository with what was last told of it, and writes down for its hooks what has changed since, once: under
 * the row's lock, so that of pushes that end at the same time each change is told by one of them. A push whose end a
 * crash swallowed is told with the next, or by the sweep.
 */
export async function tellPushes(
  parts: Pick<GitHostParts, 'db' | 'git' | 'folders' | 'urls' | 'app' | 'now' | 'wakeDeliveries'>,
  { repoId, pusher, begunAt }: { repoId: number; pusher: Pusher; begunAt: Date },
): Promise<RefChange[]> {
  const tx = await parts.db.startTransaction().execute();
  let changes: RefChange[] = [];
  try {
    const repo = await lockRefs(tx, repoId);
    if (repo) {
      const refs = await readRefs(parts.git, parts.folders.pathOf(repo.folder));
      changes = changesBetween(repo.refs, refs);
      if (changes.length > 0) await keep(parts, tx, { repo, refs, changes, pusher });
      await notePushEnded(tx, repoId, begunAt);
    }
    await tx.commit().execute();
  } catch (error) {
    await tx
      .rollback()
      .execute()
      .catch(() => {});
    throw error;
  }
  if (changes.length > 0) parts.wakeDeliveries();
  return changes;
}

async function keep(
  parts: Parameters<typeof tellPushes>[0],
  tx: Tx,
  { repo, refs, changes, pusher }: { repo: RepoRow; refs: Refs; changes: RefChange[]; pusher: Pusher },
): Promise<void> {
  const now = parts.now();
  const defaultBranch = defaultBranchOf(repo.default_branch, refs);
  if (defaultBranch !== repo.default_branch) {
    const folder = parts.folders.pathOf(repo.folder);
    await parts.git.read(folder, ['symbolic-ref', '--', 'HEAD', `refs/heads/${defaultBranch}`]);
  }
  await keepRefs(tx, repo.id, { refs, pushed_at: now, default_branch: defaultBranch });
  const hooks = (await listHookRows(tx, repo.id)).filter(
    (hook) => hook.is_active && (hook.events.includes('push') || hook.events.includes('*')),
  );
  if (hooks.length === 0) return;
  const slug = (await findTenant({ db: tx }, { ref: repo.tenant_id }))?.slug ?? '';
  const owner = { slug, installationId: (await installationOfTenant(tx, repo.tenant_id)).id };
  const pushed = { ...repo, pushed_at: now, default_branch: defaultBranch };
  for (const change of changes.slice(0, changesToldMax)) {
    const payload = JSON.stringify(await pushEvent(parts, change, { repo: pushed, owner, pusher }));
    for (const hook of hooks) await insertDelivery(tx, { hook_id: hook.id, event: 'push', payload }, now);
  }
}

export function changesBetween(before: Refs, after: Refs): RefChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names
    .map((ref) => ({ ref, before: before[ref] ?? null, after: after[ref] ?? null }))
    .filter((change) => change.before !== change.after);
}

/** The first branch of a repository is its default one, whatever it is called. */
export function defaultBranchOf(known: string, refs: Refs): string {
  if (Object.hasOwn(refs, `refs/heads/${known}`)) return known;
  const branches = Object.keys(refs)
    .filter((ref) => ref.startsWith('refs/heads/'))
    .map((ref) => ref.slice('refs/heads/'.length))
    .filter(isGitRef);
  return branches.find((name) => name === 'main' || name === 'master') ?? branches[0] ?? known;
}
