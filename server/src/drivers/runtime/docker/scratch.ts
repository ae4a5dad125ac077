import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { takeLock } from '../../database/lock-file.ts';

/** For files of a moment. They may hold variables of apps, so none outlives its server by more than the next one's start. */
export interface Scratch {
  folder: string;
  close(): Promise<void>;
}

/** Removes what servers left that were killed; another that lives keeps its own. */
export async function openScratch(place: string): Promise<Scratch> {
  await mkdir(place, { recursive: true, mode: 0o700 });
  for (const name of await readdir(place)) {
    if (name.includes('.')) continue;
    const lock = takeLock(join(place, `${name}.lock`));
    if (!('release' in lock)) continue;
    await rm(join(place, name), { recursive: true, force: true });
    lock.release();
  }
  const folder = join(place, crypto.randomUUID());
  // The lock first: a folder without one is nobody's.
  const lock = takeLock(`${folder}.lock`);
  if (!('release' in lock)) throw new Error(`${folder} is taken.`);
  await mkdir(folder, { mode: 0o700 });
  return {
    folder,
    async close() {
      await rm(folder, { recursive: true, force: true });
      lock.release();
    },
  };
}
