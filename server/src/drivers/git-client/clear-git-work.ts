import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const hourMs = 3600_000;

/** Folders that a server left behind when it was ended. Another copy may work in those of the last hour. */
export async function clearGitWork(workDir: string, now: Date): Promise<void> {
  for (const name of await readdir(workDir).catch(() => [])) {
    const folder = join(workDir, name);
    const facts = await stat(folder).catch(() => null);
    if (name.startsWith('git-') && facts && now.getTime() - facts.mtimeMs > hourMs)
      await rm(folder, { recursive: true, force: true });
  }
}
