import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { manifestFileNames } from '@svc/contract/manifest.ts';
import ignore, { type Ignore } from 'ignore';
import { fileUnreadable } from '../file-chunks.ts';

/** Left out whatever else is said, at any depth: what is made anew from the rest, and what holds secrets. */
const never = /^(?:\.git|\.hg|\.svn|node_modules|\.env(?:\..*)?|\.envrc|\.DS_Store)$/i;
/** `.env.example` and the like are there to be read. */
const samples = /^\.env\.(?:example|sample|template|dist)$/i;
/** What the build itself is read from is sent also where the list for images leaves it out; no other list is passed over. */
const readByBuild = new Set<string>([
  ...manifestFileNames,
  ...['.dockerignore', 'Dockerfile'],
  ...['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml'],
]);

const lists = ['.gitignore', '.svcignore', '.dockerignore'] as const;
type List = (typeof lists)[number];

/** One folder's lists, and what they are relative to. */
export interface FolderRules {
  list: List;
  /** Of the folder below the root; empty, or ending in a slash. */
  at: string;
  rules: Ignore;
}

export function isNeverSent(name: string): boolean {
  return never.test(name) && !samples.test(name);
}

/** Those of a folder: `.gitignore` and `.svcignore` anywhere, `.dockerignore` at the root. */
export function rulesIn(folder: string, at: string, names: readonly string[]): FolderRules[] {
  const has = (list: List) => names.includes(list) && (at === '' || list !== '.dockerignore');
  return lists.filter(has).map((list) => {
    const text = textOf(join(folder, list));
    const lines = list === '.dockerignore' ? text.split(/\r?\n/).map(fromRoot) : text;
    return { list, at, rules: ignore().add(lines) };
  });
}

/**
 * Whether lists of one kind leave it out; of these the nearest that says something of it counts. A folder ends in a
 * slash. `named`: what `svc.yaml` says that it is built by.
 */
export function isIgnored(
  path: string,
  above: readonly FolderRules[],
  { named }: { named: readonly string[] },
): boolean {
  return lists.some((list) => {
    if (list === '.dockerignore' && (readByBuild.has(posix.basename(path)) || named.includes(path)))
      return false;
    for (const { at, rules } of above.filter((one) => one.list === list).reverse()) {
      const { ignored, unignored } = rules.test(path.slice(at.length));
      if (ignored || unignored) return ignored;
    }
    return false;
  });
}

/** Patterns for images begin at the root, unless they say otherwise. */
function fromRoot(line: string): string {
  const [, not = '', pattern = ''] = /^\s*(!?)\s*(.*?)\s*$/.exec(line) ?? [];
  if (pattern === '' || pattern.startsWith('#')) return '';
  return `${not}/${pattern.replace(/^\.?\/+/, '')}`;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw fileUnreadable(path, cause);
  }
}
