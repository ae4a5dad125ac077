import { basename } from 'node:path';

/** One side of a copy: `:key` is in the app's storage, `-` standard input or output, all else a path. */
export type Side = { kind: 'object'; key: string } | { kind: 'file'; path: string } | { kind: 'standard' };

export function sideOf(typed: string): Side {
  if (typed === '-') return { kind: 'standard' };
  return typed.startsWith(':') ? { kind: 'object', key: typed.slice(1) } : { kind: 'file', path: typed };
}

/** Into a folder, named by an empty key or a slash at the end, a thing goes under its own name. */
export function keyWithin(key: string, source: string): string {
  return key === '' || key.endsWith('/') ? `${key}${basename(source)}` : key;
}

/** What all keys of a folder begin with. */
export function folderPrefix(key: string): string {
  return key === '' || key.endsWith('/') ? key : `${key}/`;
}
