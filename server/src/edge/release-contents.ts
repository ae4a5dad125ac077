import type { ReleaseContent } from './site-snapshot.ts';

/** Lists of files, kept beyond a change of their sites: a release never changes. */
export interface ReleaseContents {
  get(releaseId: string, load: () => Promise<ReleaseContent>): Promise<ReleaseContent>;
  /** What it says has proved wrong. */
  forget(releaseId: string): void;
  files(): number;
}

export function createReleaseContents(options: {
  /** Of all releases together: what is kept is bounded by what it costs, not by how many sites there are. */
  filesMax: number;
  /** Whoever holds it must let go of it, or nothing is won. */
  onDropped: (releaseId: string) => void;
}): ReleaseContents {
  const kept = new Map<string, ReleaseContent>();
  const loading = new Map<string, Promise<ReleaseContent>>();
  let total = 0;

  function drop(releaseId: string): void {
    const content = kept.get(releaseId);
    if (!content) return;
    kept.delete(releaseId);
    total -= costOf(content);
    options.onDropped(releaseId);
  }

  function dropOne(): void {
    for (const [releaseId, content] of kept) {
      if (!content.use.isRecent) {
        drop(releaseId);
        return;
      }
      content.use.isRecent = false;
      kept.delete(releaseId);
      kept.set(releaseId, content);
    }
  }

  async function loaded(releaseId: string, load: () => Promise<ReleaseContent>): Promise<ReleaseContent> {
    const content = await load();
    while (kept.size > 0 && total + costOf(content) > options.filesMax) dropOne();
    kept.set(releaseId, content);
    total += costOf(content);
    return content;
  }

  return {
    async get(releaseId, load) {
      const known = kept.get(releaseId);
      if (known) return known;
      const under = loading.get(releaseId);
      if (under) return under;
      const result = loaded(releaseId, load).finally(() => loading.delete(releaseId));
      loading.set(releaseId, result);
      return result;
    },
    forget: drop,
    files: () => total,
  };
}

/** One more for the release itself: many of few files cost too. */
function costOf({ files }: ReleaseContent): number {
  return files.size + 1;
}
