import type { Deployment } from './deployment-phases.ts';

export const shortCommit = (commit: string) => commit.slice(0, 7);

/** What was deployed, in a few letters. */
export function sourceText({ source, commit, ref, rollback_of, kind }: Deployment): string {
  if (commit !== null && ref !== null && !commit.startsWith(ref)) return `${ref} @ ${shortCommit(commit)}`;
  if (commit !== null) return shortCommit(commit);
  if (source === 'upload') return 'uploaded source';
  if (kind === 'resume' || rollback_of !== null) return 'what was built before';
  return ref ?? 'the connected branch';
}

/** Why it was made. */
export function reasonText({ kind, trigger }: Pick<Deployment, 'kind' | 'trigger'>): string {
  if (kind === 'rollback') return 'a way back';
  if (kind === 'resume' || trigger === 'resume') return 'the app was resumed';
  if (trigger === 'push') return 'a push';
  if (trigger === 'bootstrap') return 'the making of the app';
  return 'somebody';
}
