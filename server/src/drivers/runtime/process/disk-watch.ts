import { statfsSync } from 'node:fs';
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

  async function check(): Promise<void> {
    const used = new Map<WatchedFiles, number>();
    for (const watched of [...all]) {
      const bytes = await watched.measure(watched.mbMax * mb);
      if (!all.has(watched)) continue;
      used.set(watched, bytes);
      if (bytes > watched.mbMax * mb) stop(watched, `used more than ${watched.mbMax} MiB of disk space`);
    }
    const [largest] = [...used].sort(([, a], [, b]) => b - a);
    if (largest && largest[1] > mb && folders.some((folder) => freeBytes(folder) < reserveMb * mb))
      stop(largest[0], 'was stopped because the disk of the machine is almost full');
  }

  function stop(watched: WatchedFiles, reason: string): void {
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

function freeBytes(folder: string): number {
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
