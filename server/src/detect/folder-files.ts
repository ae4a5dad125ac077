import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type SourceFiles, sourceFileBytesMax } from './source-files.ts';

/** Names that nothing is told by, and that hold most of the files. */
const skipped = new Set(['node_modules', '.git', 'vendor', 'target']);
/** Detection looks at the top; `public/index.html` is as deep as it goes. */
const depthMax = 3;
const filesMax = 20_000;

/** Of a folder on this machine. Links are neither followed nor read: they may lead anywhere. */
export async function folderFiles(folder: string): Promise<SourceFiles> {
  const paths = new Set<string>();
  await walk('', 1);
  return {
    paths,
    async read(path) {
      if (!paths.has(path)) return null;
      const file = join(folder, path);
      const found = await lstat(file).catch(() => null);
      if (!found?.isFile() || found.size > sourceFileBytesMax) return null;
      return Bun.file(file).text();
    },
  };

  async function walk(below: string, depth: number): Promise<void> {
    for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
      if (paths.size >= filesMax) return;
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.isFile()) paths.add(path);
      else if (entry.isDirectory() && depth < depthMax && !skipped.has(entry.name))
        await walk(path, depth + 1);
    }
  }
}
