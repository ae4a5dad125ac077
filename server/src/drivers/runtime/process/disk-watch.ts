import { statfsSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Folders of one app or build, and what they may hold. */
export interface WatchedFolders {
  folders: readonly string[];
  mbMax: number;
  onTooMuch: (reason: string) => void;
}

export interface DiskWatch {
  add(watched: WatchedFolders): { stop(): void };
  close(): void;
}

const intervalMs = 1_000;
const mb = 1024 * 1024;

/**
 * File systems have no quota that an ordinary user could set, so the folders are measured. The disk keeps a reserve for
 * PostgreSQL: before it is used up, the app that holds most is stopped.
 */
export function createDiskWatch({ dataDir, reserveMb }: { dataDir: string; reserveMb: number }): DiskWatch {
  const all = new Set<WatchedFolders>();
  let isWatching = false;

  async function check(): Promise<void> {
    const used = new Map<WatchedFolders, number>();
    for (const watched of [...all]) {
      const bytes = await measure(watched.folders, watched.mbMax * mb);
      if (!all.has(watched)) continue;
      used.set(watched, bytes);
      if (bytes > watched.mbMax * mb) stop(watched, `used more than ${watched.mbMax} MiB of disk space`);
    }
    const [largest] = [...used].sort(([, a], [, b]) => b - a);
    if (largest && largest[1] > mb && freeBytes(dataDir) < reserveMb * mb)
      stop(largest[0], 'was stopped because the disk of the machine is almost full');
  }

  function stop(watched: WatchedFolders, reason: string): void {
    if (all.delete(watched)) watched.onTooMuch(reason);
  }

  async function watch(): Promise<void> {
    if (isWatching) return;
    isWatching = true;
    for (; all.size > 0; await Bun.sleep(intervalMs)) await check().catch(() => {});
    isWatching = false;
  }

  return {
    add(watched) {
      all.add(watched);
      void watch();
      return { stop: () => void all.delete(watched) };
    },
    close: () => all.clear(),
  };
}

function freeBytes(dataDir: string): number {
  const { bavail, bsize } = statfsSync(dataDir);
  return bavail * bsize;
}

/** Up to a little more than the limit. Entries that vanish meanwhile count nothing. */
async function measure(folders: readonly string[], bytesMax: number): Promise<number> {
  let bytes = 0;
  const left = [...folders];
  for (let folder = left.pop(); folder !== undefined && bytes <= bytesMax; folder = left.pop())
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) left.push(path);
      bytes += ((await lstat(path).catch(() => null))?.blocks ?? 0) * 512;
      if (bytes > bytesMax) break;
    }
  return bytes;
}
