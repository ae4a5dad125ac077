import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Found by what it contains, because this code also runs from a bundle, outside `server/src`. */
export const projectRoot = findRoot(import.meta.dir);

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'server', 'migrations'))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error(`${import.meta.dir} is not part of an installation of svc.`);
  return findRoot(parent);
}
