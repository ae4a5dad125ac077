import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Everything below a folder. Links are entries, and never followed: Bun's own recursive `readdir` does follow them. */
export async function* walkTree(folder: string): AsyncGenerator<{ path: string; entry: Dirent }> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    yield { path, entry };
    if (entry.isDirectory()) yield* walkTree(path);
  }
}
