import { chmod, mkdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Claimed } from './work-store.ts';

/**
 * A folder for one claim of a deployment. What earlier ones left is gone first; one of them that wakes late removes its
 * own, and not that of who has taken over.
 */
export async function newWorkFolder(workDir: string, { id, lease }: Claimed): Promise<string> {
  await rm(join(workDir, id), { recursive: true, force: true });
  const folder = join(workDir, id, lease);
  await mkdir(folder, { recursive: true });
  for (const each of [join(workDir, id), folder]) await chmod(each, 0o711);
  return folder;
}

export async function removeWorkFolder(workDir: string, { id, lease }: Claimed): Promise<void> {
  await rm(join(workDir, id, lease), { recursive: true, force: true }).catch(() => {});
  // Not where another is at work in it, or there is none.
  await rmdir(join(workDir, id)).catch(() => {});
}
