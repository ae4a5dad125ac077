import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { fileUnreadable } from '../file-chunks.ts';

/** Left out whatever else is said, at any depth: what is made anew from the rest, and what holds secrets. */
const never = /^(?:\.git|\.hg|\.svn|node_modules|\.env(?:\..*)?|\.envrc|\.DS_Store)$/i;
/** `.env.example` and the like are there to be read. */
const samples = /^\.env\.(?:example|sample|template|dist)$/i;
/** What the build itself is read from is always sent, also where a list for images leaves it out. */
const alwaysRead =
  /^(?:svc\.ya?ml|\.dockerignore|(?:docker-)?compose.*\.ya?ml|(?:.*\.)?Dockerfile(?:\..*)?)$/i;

/** One folder's lists, and what they are relative to. */
export interface FolderRules {
  /** Of the folder below the root; empty, or ending in a slash. */
  at: string;
  rules: Ignore;
}

export function isNeverSent(name: string): boolean {
  return never.test(name) && !samples.test(name);
}

/** Those of a folder: `.gitignore` and `.svcignore` anywhere, `.dockerignore` at the root. */
export function rulesIn(folder: string, at: string, names: readonly string[]): FolderRules[] {
  const lists = names.filter((name) => name === '.gitignore' || name === '.svcignore');
  const rules = lists.map((name) => ({ at, rules: ignore().add(textOf(join(folder, name))) }));
  if (at !== '' || !names.includes('.dockerignore')) return rules;
  const lines = textOf(join(folder, '.dockerignore')).split(/\r?\n/).map(fromRoot);
  return [...rules, { at, rules: ignore().add(lines).add(['!/.dockerignore']) }];
}

/** Whether one of the lists leaves it out; the nearest that says something of it counts. A folder ends in a slash. */
export function isIgnored(path: string, lists: readonly FolderRules[]): boolean {
  if (alwaysRead.test(path)) return false;
  return lists.some(({ at, rules }) => rules.ignores(path.slice(at.length)));
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
