import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { staysInside } from '@svc/contract/source-links.ts';
import { BadArchive } from '../plumbing/tar-header.ts';
import type { EntryLimits } from './check-entry.ts';

/**
 * What really came out of an archive, in case that the program that unpacked it read it otherwise than we did: nothing but
 * files, folders and links that stay inside, and not too much of them.
 */
export async function lookOver(folder: string, { filesMax, bytesMax }: EntryLimits): Promise<void> {
  const open = [''];
  let [entries, bytes] = [0, 0];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const name of await readdir(join(folder, at))) {
      const path = at === '' ? name : `${at}/${name}`;
      const entry = await lstat(join(folder, path));
      if (++entries > filesMax) throw new BadArchive(`The archive holds more than ${filesMax} files.`);
      if (entry.isDirectory()) open.push(path);
      else if (entry.isFile()) bytes += entry.size;
      else if (!entry.isSymbolicLink() || !staysInside(path, await readlink(join(folder, path))))
        throw new BadArchive(`${JSON.stringify(path)} is neither a file nor a link that stays inside.`);
      if (bytes > bytesMax) throw new BadArchive(`The archive holds more than ${bytesMax} bytes.`);
    }
  }
}
