import { existsSync, statfsSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The files of one app or build, and what they may hold. */
export interface WatchedFiles {
  /** May stop counting above the limit. */
  measure: (bytesMax: number) => Promise<number>;
  mbMax: number;
  onTooMuch: (reason: string) => void;
}

export interface DiskWatch {
  add(watched: WatchedFiles): { stop(): void };
  close(): void;
}

const intervalMs = 1_000;
const mb = 1024 * 1024;
/** Measuring the folders of a large build takes a second: at most this share of the time goes to it … */
const measuredShare = 0.05;
/** … unless the disk gets fuller by more than this. */
const fullerMb = 64;

/** PostgreSQL needs it to go on. */
const standardReserveMb = 1_024;

/**
 * File systems have no quota that an ordinary user could set, so the files are measured. The disks of `folders` keep a
 * reserve for PostgreSQL: before it is used up, the app that holds most is stopped.
 */
export function createDiskWatch({
  folders,
  reserveMb = standardReserveMb,
}: {
  folders: readonly string[];
  reserveMb?: number | undefined;
}): DiskWatch {
  const all = new Set<WatchedFiles>();
  let isWatching = false;
  let last = { endedAt: 0, tookMs: 0, free: 0 };

  async function check(): Promise<void> {
    const used = new Map<WatchedFiles, number>();
    for (const watched of [...all]) {
      const bytes = await watched.measure(watched.mbMax * mb);
      if (!all.has(watched)) continue;
      used.set(watched, bytes);
      if (bytes > watched.mbMax * mb) stop(watched, `used more than ${watched.mbMax} MiB of disk space`);
    }
    const [largest] = [...used].sort(([, a], [, b]) => b - a);
    if (largest && largest[1] > mb && free() < reserveMb * mb)
      stop(largest[0], 'was stopped because the disk of the machine is almost full');
  }

  function stop(watched: WatchedFiles, reason: string): void {
    if (all.delete(watched)) watched.onTooMuch(reason);
  }

  const free = () => Math.min(...folders.map(freeBytes));

  function isDue(): boolean {
    const idleMs = performance.now() - last.endedAt;
    return idleMs * measuredShare >= last.tookMs || last.free - free() > fullerMb * mb;
  }

  async function watch(): Promise<void> {
    if (isWatching) return;
    isWatching = true;
    for (; all.size > 0; await Bun.sleep(intervalMs)) {
      if (!isDue()) continue;
      const startedAt = performance.now();
      await check().catch(() => {});
      last = { endedAt: performance.now(), tookMs: performance.now() - startedAt, free: free() };
    }
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

/** A folder that was removed limits nothing. */
function freeBytes(folder: string): number {
  if (!existsSync(folder)) return Number.POSITIVE_INFINITY;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Up to a little more than the limit. Entries that vanish meanwhile count nothing. */
export async function measureFolders(folders: readonly string[], bytesMax: number): Promise<number> {
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
