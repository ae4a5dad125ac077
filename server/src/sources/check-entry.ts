import { sourceFilesMax, sourceUnpackedBytesMax } from '@svc/contract/deployments.ts';
import { staysInside } from '@svc/contract/source-links.ts';
import { BadArchive, type TarHeader } from '../plumbing/tar-header.ts';

export interface EntryLimits {
  filesMax: number;
  bytesMax: number;
}

export const sourceLimits: EntryLimits = { filesMax: sourceFilesMax, bytesMax: sourceUnpackedBytesMax };

const pathBytesMax = 4_096;
const segmentBytesMax = 255;

/**
 * Judges the entries of an archive one after the other, each by those before it. Only files, folders and links that stay
 * inside are let through. A link leads upwards at its beginning alone, and nothing is put behind one: so what its text
 * says is where it leads.
 */
export function createEntryCheck({ filesMax, bytesMax }: EntryLimits): (entry: TarHeader) => void {
  const files = new Set<string>();
  const folders = new Set<string>(['']);
  const links = new Set<string>();
  let entries = 0;
  let bytes = 0;

  function place(path: string, kind: Set<string>): void {
    const parents = parentsOf(path);
    const blocked = parents.find((parent) => links.has(parent) || files.has(parent));
    if (blocked !== undefined) throw bad(path, `lies behind ${shown(blocked)}, which is no folder`);
    const isFolder = kind === folders;
    if (links.has(path) || (!isFolder && folders.has(path)) || (isFolder && files.has(path)))
      throw bad(path, 'is there twice, as different things');
    for (const parent of parents) folders.add(parent);
    kind.add(path);
  }

  return (entry) => {
    const path = plainPath(entry.name);
    if (++entries > filesMax) throw new BadArchive(`The archive holds more than ${filesMax} files.`);
    bytes += entry.size;
    if (bytes > bytesMax) throw new BadArchive(`The archive holds more than ${bytesMax} bytes.`);
    if (!'07'.includes(entry.type) && entry.size > 0) throw bad(path, 'has a content that it can not have');
    switch (entry.type) {
      case '0':
      case '7':
        if (path === '' || entry.name.endsWith('/')) throw bad(entry.name, 'is no name of a file');
        return place(path, files);
      case '5':
        return place(path, folders);
      case '2':
        if (!staysInside(path, entry.linkName)) throw bad(path, 'is a link that leads out of the source');
        return place(path, links);
      case '1':
        if (!files.has(plainPath(entry.linkName))) throw bad(path, 'is a link to no file of the archive');
        return place(path, files);
      default:
        throw bad(path, 'is neither a file, a folder nor a link');
    }
  };
}

/** Without what says nothing: `./`, and slashes at the end. */
function plainPath(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (name === '' || /[\u0000-\u001f\u007f]/.test(name)) throw bad(name, 'is no name of a file');
  if (name.startsWith('/')) throw bad(name, 'is an absolute path');
  if (Buffer.byteLength(name) > pathBytesMax) throw bad(name, 'is too long');
  const segments = name.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) throw bad(name, 'leads upwards');
  if (segments.some((segment) => Buffer.byteLength(segment) > segmentBytesMax))
    throw bad(name, 'is too long');
  return segments.join('/');
}

function parentsOf(path: string): string[] {
  const parents: string[] = [];
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) parents.push(path.slice(0, at));
  return parents;
}

function bad(path: string, what: string): BadArchive {
  return new BadArchive(`${shown(path)} ${what}.`);
}

/** In quotes, with what can not be seen spelt out, and never long. */
function shown(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}
