import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join, posix } from 'node:path';
import { sourceFilesMax } from '@svc/contract/deployments.ts';
import { manifestFileNames } from '@svc/contract/manifest.ts';
import type { ProblemItem } from '@svc/contract/problem.ts';
import { staysInside } from '@svc/contract/source-links.ts';
import type { Ignore } from 'ignore';
import ignore from 'ignore';
import { fileUnreadableError } from '../inputs/files.ts';
import { countText, rejectionError } from '../session/problems.ts';
import { type FileIdentity, fileIdentity } from '../static/site-files.ts';

export type SourceEntry =
  | { kind: 'file'; path: string; absolutePath: string; mode: number; size: number; identity: FileIdentity }
  | { kind: 'link'; path: string; target: string };

interface WalkedSource {
  entries: SourceEntry[];
  leftOut: string[];
}

export function walkSource(
  folder: string,
  { named: namedFiles }: { named: readonly string[] } = { named: [] },
): WalkedSource {
  const entries: SourceEntry[] = [];
  const leftOut: string[] = [];
  const invalid: ProblemItem[] = [];
  const walk = (absolutePath: string, at: string, above: readonly FolderRules[]): void => {
    const names = readNames(absolutePath);
    const lists = [...above, ...readRules(absolutePath, at, names)];
    for (const name of names) {
      const [here, path] = [join(absolutePath, name), `${at}${name}`];
      if (isNeverSent(name)) {
        leftOut.push(path);
        continue;
      }
      const entry = lstatSync(here);
      if (isIgnored(entry.isDirectory() ? `${path}/` : path, lists, { named: namedFiles })) continue;
      if (entry.isDirectory()) walk(here, `${path}/`, lists);
      else if (entry.isFile())
        entries.push({
          kind: 'file',
          path,
          absolutePath: here,
          mode: entry.mode & 0o111 ? 0o755 : 0o644,
          size: entry.size,
          identity: fileIdentity(entry),
        });
      else if (entry.isSymbolicLink() && staysInside(path, readlinkSync(here)))
        entries.push({ kind: 'link', path, target: readlinkSync(here) });
      else if (entry.isSymbolicLink())
        invalid.push({
          field: path,
          code: 'invalid_path',
          detail: 'is a link to a target outside of the folder',
        });
      if (entries.length > sourceFilesMax) throw tooManyFilesError(folder);
    }
  };
  walk(folder, '', []);
  if (invalid.length > 0)
    throw rejectionError('invalid_path', {
      detail: countText(
        invalid.length,
        'link points outside of the folder',
        'links point outside of the folder',
      ),
      next: 'Replace the links with files, or exclude them with .svcignore.',
      items: invalid,
    });
  return { entries, leftOut };
}

function readNames(absolutePath: string): string[] {
  try {
    return readdirSync(absolutePath).sort();
  } catch (cause) {
    throw fileUnreadableError(absolutePath, cause);
  }
}

function tooManyFilesError(folder: string): Error {
  return rejectionError('payload_too_large', {
    detail: `${folder} contains more than ${sourceFilesMax} files.`,
    next: 'Exclude other files with .svcignore.',
  });
}

const neverSent = /^(?:\.git|\.hg|\.svn|node_modules|\.env(?:\..*)?|\.envrc|\.DS_Store)$/i;
/** Made to be shared: they name variables and contain no secrets. */
const envSamples = /^\.env\.(?:example|sample|template|dist|schema|defaults)$/i;
/** Files that the build reads are sent even if .dockerignore excludes them. */
const readByBuild = new Set<string>([
  ...manifestFileNames,
  '.dockerignore',
  'Dockerfile',
  'compose.yaml',
  'compose.yml',
  'docker-compose.yaml',
  'docker-compose.yml',
]);

const lists = ['.gitignore', '.svcignore', '.dockerignore'] as const;
type List = (typeof lists)[number];

interface FolderRules {
  list: List;
  at: string;
  rules: Ignore;
}

function isNeverSent(name: string): boolean {
  return neverSent.test(name) && !envSamples.test(name);
}

/** `.gitignore` and `.svcignore` apply in any folder, `.dockerignore` in the root only. */
function readRules(folder: string, at: string, names: readonly string[]): FolderRules[] {
  const has = (list: List) => names.includes(list) && (at === '' || list !== '.dockerignore');
  return lists.filter(has).map((list) => {
    const text = readText(join(folder, list));
    const lines = list === '.dockerignore' ? text.split(/\r?\n/).map(anchorToRoot) : text;
    return { list, at, rules: ignore().add(lines) };
  });
}

function isIgnored(
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

function anchorToRoot(line: string): string {
  const [, not = '', pattern = ''] = /^\s*(!?)\s*(.*?)\s*$/.exec(line) ?? [];
  if (pattern === '' || pattern.startsWith('#')) return '';
  return `${not}/${pattern.replace(/^\.?\/+/, '')}`;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw fileUnreadableError(path, cause);
  }
}
