import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncToDisk } from '../backup/archive.ts';
import { type FileEntry, isBackedUp } from '../backup/data-files.ts';
import { dataPath } from './verify-backup.ts';

export type StagedFiles = ReturnType<typeof stageFiles>;

export function stageFiles(dataDir: string, now: Date) {
  mkdirSync(dataDir, { recursive: true });
  // Left by a killed restore; only one runs at a time.
  for (const name of readdirSync(dataDir).filter((name) => name.startsWith('restoring-'))) {
    rmSync(join(dataDir, name), { recursive: true, force: true });
  }
  const folder = join(dataDir, `restoring-${process.pid}`);
  mkdirSync(folder, { mode: 0o700 });
  return {
    folder,
    async add(entry: FileEntry): Promise<void> {
      const path = join(folder, dataPath(entry));
      if (entry.kind === 'folder') mkdirSync(path, { recursive: true, mode: entry.mode & 0o777 });
      else await writeFile(path, entry);
    },
    exchange: (keeps: (name: string) => boolean) => {
      const replaced = join(dataDir, `replaced-${now.toISOString().replaceAll(':', '-')}`);
      return exchange(dataDir, { staged: folder, replaced, keeps });
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function writeFile(path: string, entry: FileEntry): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const handle = await open(path, 'wx', entry.mode & 0o777);
  try {
    for await (const chunk of entry.content) await handle.writeFile(chunk);
    await handle.chmod(entry.mode & 0o777);
    await handle.utimes(entry.modified, entry.modified);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Deletes nothing, so that a restore into the wrong folder can be undone. */
function exchange(
  dataDir: string,
  { staged, replaced, keeps }: { staged: string; replaced: string; keeps(name: string): boolean },
): { undo(): void; keptIn: string | null } {
  const moved: [string, string][] = [];
  const move = (from: string, to: string) => {
    renameSync(from, to);
    moved.push([from, to]);
  };
  const undo = () => {
    for (const [from, to] of moved.splice(0).reverse()) renameSync(to, from);
    rmSync(replaced, { recursive: true, force: true });
  };
  try {
    const added = readdirSync(staged);
    const present = readdirSync(dataDir).filter(
      (name) => isBackedUp(name) && (added.includes(name) || !keeps(name)),
    );
    if (present.length > 0) mkdirSync(replaced, { mode: 0o700 });
    for (const name of present) move(join(dataDir, name), join(replaced, name));
    for (const name of added) move(join(staged, name), join(dataDir, name));
    syncToDisk(dataDir);
    return { undo, keptIn: present.length > 0 ? replaced : null };
  } catch (error) {
    undo();
    throw error;
  }
}
