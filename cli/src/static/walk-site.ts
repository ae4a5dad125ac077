import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import type { ProblemItem } from '@svc/contract/problem.ts';
import { isLeftOutOfSite, releaseFilesMax } from '@svc/contract/site-paths.ts';
import { fileUnreadable } from '../file-chunks.ts';
import { named, refused } from './refused.ts';

/** A file as it was found; what is read later must be the same one. */
export interface SiteFile {
  /** Below the folder, with slashes, in the composed form of Unicode. */
  path: string;
  place: string;
  size: number;
  identity: FileIdentity;
}

export interface FileIdentity {
  dev: number;
  ino: number;
  size: number;
  mtimeMs: number;
}

export interface Walked {
  files: SiteFile[];
  /** Paths of what was passed over. */
  leftOut: string[];
}

/**
 * Every file below a folder, in the order of their paths. Nothing is followed: a link could lead anywhere, so all links
 * are refused, by name, and so is what is neither file nor folder. `own` are names at the top that are not of the site.
 */
export function walkSite(folder: string, own: ReadonlySet<string> = new Set()): Walked {
  const files: SiteFile[] = [];
  const leftOut: string[] = [];
  const odd: ProblemItem[] = [];
  const folders = [{ place: folder, path: '', depth: 0 }];
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    for (const name of namesIn(at.place)) {
      const place = join(at.place, name);
      const path = `${at.path}${name}`;
      if (at.depth === 0 && own.has(name)) continue;
      if (isLeftOutOfSite(name, at.depth)) {
        leftOut.push(path);
        continue;
      }
      const entry = entryAt(place);
      if (entry.isDirectory()) folders.push({ place, path: `${path}/`, depth: at.depth + 1 });
      else if (entry.isFile()) files.push(fileOf(path, place, entry));
      else odd.push({ field: path, code: 'invalid_path', detail: `is ${kindOf(entry)}` });
      if (files.length > releaseFilesMax) throw tooMany(folder);
    }
  }
  if (odd.length > 0) throw notFiles(odd);
  files.sort((one, other) => (one.path < other.path ? -1 : 1));
  return { files, leftOut: leftOut.sort() };
}

function fileOf(path: string, place: string, entry: Stats): SiteFile {
  return { path: path.normalize('NFC'), place, size: entry.size, identity: identityOf(entry) };
}

export function identityOf({ dev, ino, size, mtimeMs }: Stats): FileIdentity {
  return { dev, ino, size, mtimeMs };
}

function namesIn(place: string): string[] {
  try {
    return readdirSync(place);
  } catch (cause) {
    throw fileUnreadable(place, cause);
  }
}

function entryAt(place: string): Stats {
  try {
    return lstatSync(place);
  } catch (cause) {
    // A name that is no UTF-8 comes with other letters in it, and is not found by them.
    if (place.includes('\ufffd'))
      throw refused('invalid_path', {
        detail: `${place} has a name that is not UTF-8.`,
        next: 'Rename the file.',
      });
    throw fileUnreadable(place, cause);
  }
}

function kindOf(entry: Stats): string {
  if (entry.isSymbolicLink()) return 'a symbolic link';
  if (entry.isFIFO()) return 'a named pipe';
  if (entry.isSocket()) return 'a socket';
  return 'a device';
}

function notFiles(odd: readonly ProblemItem[]): Error {
  const items = [...odd].sort((one, other) => ((one.field ?? '') < (other.field ?? '') ? -1 : 1));
  return refused('invalid_path', {
    detail: named(items.length, 'entry of the folder is no file', 'entries of the folder are no files'),
    next: 'Put the files themselves in place of links, and leave the rest out of the folder.',
    items,
  });
}

function tooMany(folder: string): Error {
  return refused('payload_too_large', {
    detail: `${folder} holds more than ${releaseFilesMax} files.`,
    next: 'Give the folder that the build made, and only that.',
  });
}
