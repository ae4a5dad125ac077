import { domainsTag } from '../../domains/list-active-hosts.ts';

/** What was lately told to have changed, of what a request may rest on. */
export interface RecentChanges {
  /** To be asked about later; taken before what it is about is looked up. */
  now(): number;
  since(then: number, tags: readonly string[]): boolean;
}

/** Any end of a credential: which ones a visit rests on is not told to who looks. */
export const anyCredential = 'credential:';
const tagsMax = 10_000;

export function createRecentChanges(invalidation: {
  onChange(listener: (tag: string | null) => void): void;
}): RecentChanges {
  const changedAt = new Map<string, number>();
  let now = 0;
  /** Up to here everything counts as changed. */
  let floor = 0;
  invalidation.onChange((tag) => {
    // Of logs and of work that waits many are told each second, and nothing that is open rests on them.
    const key = tag?.startsWith(anyCredential) ? anyCredential : tag;
    if (key === null || key === domainsTag || changedAt.size >= tagsMax) {
      changedAt.clear();
      floor = ++now;
    } else if (key === anyCredential || key.startsWith('app:') || key.startsWith('user:'))
      changedAt.set(key, ++now);
  });
  return {
    now: () => now,
    since: (then, tags) => floor > then || tags.some((tag) => (changedAt.get(tag) ?? 0) > then),
  };
}
