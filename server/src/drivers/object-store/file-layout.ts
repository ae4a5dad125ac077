import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Where a key's file is. Each segment lies in a folder named after its first two characters, so that folders stay
 * small and a walk still meets the keys in order. `+` stands for the `/` that ends a segment with others below it,
 * `~` ends the name of a group: no key holds them, so nothing is ever both a file and a folder.
 */
export function pathOfKey(key: string): string {
  const segments = key.split('/').map((segment, at, all) => (at < all.length - 1 ? `${segment}/` : segment));
  return segments.flatMap((segment) => [`${encode(groupOf(segment))}~`, encode(segment)]).join('/');
}

export interface FoundFile {
  key: string;
  size: number;
  modifiedAt: Date;
}

/** In order of keys. What goes away meanwhile is left out. */
export async function* walk(
  folder: string,
  wanted: { prefix: string; after: string },
  base = '',
): AsyncGenerator<FoundFile> {
  const mayHold = (beginning: string) =>
    (beginning.startsWith(wanted.prefix) || wanted.prefix.startsWith(beginning)) &&
    (beginning > wanted.after || wanted.after.startsWith(beginning));
  for (const group of await namesIn(folder)) {
    if (!group.endsWith('~') || !mayHold(base + group.slice(0, -1))) continue;
    const inside = join(folder, encode(group));
    for (const name of await namesIn(inside)) {
      const key = base + name;
      if (!mayHold(key)) continue;
      const path = join(inside, encode(name));
      if (name.endsWith('/')) yield* walk(path, wanted, key);
      else if (key > wanted.after && key.startsWith(wanted.prefix)) yield* oneFile(path, key);
    }
  }
}

async function* oneFile(path: string, key: string): AsyncGenerator<FoundFile> {
  const facts = await orIfGone(stat(path), null);
  if (facts?.isFile()) yield { key, size: facts.size, modifiedAt: facts.mtime };
}

/** As parts of keys, in order. */
async function namesIn(folder: string): Promise<string[]> {
  return (await orIfGone(readdir(folder), [])).map((name) => name.replace('+', '/')).sort(byGroup);
}

// A group's `~` is no part of the key: `a` comes before `a-`.
function byGroup(one: string, other: string): number {
  const [a, b] = [one.replace('~', ''), other.replace('~', '')];
  return a < b ? -1 : Number(a > b);
}

const groupOf = (segment: string) => segment.slice(0, 2);
const encode = (part: string) => part.replace('/', '+');

export async function orIfGone<T, const O>(work: Promise<T>, otherwise: O): Promise<T | O> {
  try {
    return await work;
  } catch (error) {
    if (isGone(error)) return otherwise;
    throw error;
  }
}

export function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}
