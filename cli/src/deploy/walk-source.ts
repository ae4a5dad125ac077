import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { sourceFilesMax } from '@svc/contract/deployments.ts';
import type { ProblemItem } from '@svc/contract/problem.ts';
import { staysInside } from '@svc/contract/source-links.ts';
import { fileUnreadable } from '../file-chunks.ts';
import { named, refused } from '../static/refused.ts';
import { type FileIdentity, identityOf } from '../static/walk-site.ts';
import { type FolderRules, isIgnored, isNeverSent, rulesIn } from './pack-rules.ts';

export type SourceEntry =
  | { kind: 'file'; path: string; place: string; mode: number; size: number; identity: FileIdentity }
  | { kind: 'link'; path: string; target: string };

export interface WalkedSource {
  entries: SourceEntry[];
  /** Paths of what is never sent, and was there; what a list leaves out is not told. */
  leftOut: string[];
}

/** What of a folder is source: in the order of paths, with nothing followed. `named`: see `isIgnored`. */
export function walkSource(
  folder: string,
  { named: namedFiles }: { named: readonly string[] } = { named: [] },
): WalkedSource {
  const entries: SourceEntry[] = [];
  const leftOut: string[] = [];
  const odd: ProblemItem[] = [];
  const walk = (place: string, at: string, above: readonly FolderRules[]): void => {
    const names = namesIn(place);
    const lists = [...above, ...rulesIn(place, at, names)];
    for (const name of names) {
      const [here, path] = [join(place, name), `${at}${name}`];
      if (isNeverSent(name)) {
        leftOut.push(path);
        continue;
      }
      const entry = lstatSync(here);
      if (isIgnored(entry.isDirectory() ? `${path}/` : path, lists, { named: namedFiles })) continue;
      if (entry.isDirectory()) walk(here, `${path}/`, lists);
      else if (entry.isFile())
        entries.push({
          ...{ kind: 'file', path, place: here, mode: entry.mode & 0o111 ? 0o755 : 0o644 },
          ...{ size: entry.size, identity: identityOf(entry) },
        });
      else if (entry.isSymbolicLink() && staysInside(path, readlinkSync(here)))
        entries.push({ kind: 'link', path, target: readlinkSync(here) });
      else if (entry.isSymbolicLink())
        odd.push({ field: path, code: 'invalid_path', detail: 'is a link that leads out of the folder' });
      if (entries.length > sourceFilesMax) throw tooMany(folder);
    }
  };
  walk(folder, '', []);
  if (odd.length > 0)
    throw refused('invalid_path', {
      detail: named(odd.length, 'link leads out of the folder', 'links lead out of the folder'),
      next: 'Put the files themselves in their place, or name them in .svcignore.',
      items: odd,
    });
  return { entries, leftOut };
}

function namesIn(place: string): string[] {
  try {
    return readdirSync(place).sort();
  } catch (cause) {
    throw fileUnreadable(place, cause);
  }
}

function tooMany(folder: string): Error {
  return refused('payload_too_large', {
    detail: `${folder} holds more than ${sourceFilesMax} files.`,
    next: 'Name what is not source in .svcignore.',
  });
}
