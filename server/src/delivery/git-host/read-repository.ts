import { gitCommitPattern, isGitRef } from '@svc/contract/git-names.ts';
import type { GitProcesses } from './git-processes.ts';
import type { Refs } from './host-store.ts';

interface GitPerson {
  name: string;
  email: string;
  date: string;
}

export interface GitCommit {
  sha: string;
  tree: string;
  parents: string[];
  author: GitPerson;
  committer: GitPerson;
  message: string;
}

export interface GitEntry {
  mode: string;
  type: string;
  sha: string;
  size: number | null;
  path: string;
}

const shortCommitPattern = /^[0-9a-f]{7,39}$/;
const commitFormat = '%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B%x00%x1e';
const treeEntriesMax = 100_000;
const treeBytesMax = 7 * 1024 * 1024;

export async function readRefs(git: GitProcesses, folder: string): Promise<Refs> {
  const argv = ['for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads/', 'refs/tags/'];
  const text = (await git.read(folder, argv))?.toString('utf8');
  if (text === undefined) throw new Error('git for-each-ref failed.');
  const lines = text.split('\n').filter((line) => line !== '');
  return Object.fromEntries(lines.map((line) => [line.slice(41), line.slice(0, 40)]));
}

export async function findCommit(git: GitProcesses, folder: string, ref: string): Promise<string | null> {
  const candidates = [
    ...(isGitRef(ref) ? [`refs/heads/${ref}`, `refs/tags/${ref}`] : []),
    ...(ref === 'HEAD' || gitCommitPattern.test(ref) || shortCommitPattern.test(ref) ? [ref] : []),
  ];
  for (const candidate of candidates) {
    const argv = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${candidate}^{commit}`];
    const sha = (await git.read(folder, argv))?.toString('latin1').trim().split('\n').at(-1);
    if (sha !== undefined && gitCommitPattern.test(sha)) return sha;
  }
  return null;
}

export async function readCommits(
  git: GitProcesses,
  folder: string,
  { sha, not, max }: { sha: string; not?: string; max: number },
): Promise<GitCommit[]> {
  if (!gitCommitPattern.test(sha) || (not !== undefined && !gitCommitPattern.test(not))) return [];
  const range = not === undefined ? [sha] : [sha, `^${not}`];
  const argv = ['log', `--max-count=${max}`, `--format=${commitFormat}`, '--end-of-options', ...range];
  const text = (await git.read(folder, argv))?.toString('utf8') ?? '';
  return text
    .split('\x1e')
    .map((record) => record.replace(/^\n/, '').split('\0'))
    .filter((fields) => fields.length > 9)
    .map((fields) => {
      const field = (at: number) => fields[at] ?? '';
      const person = (at: number) => ({ name: field(at), email: field(at + 1), date: field(at + 2) });
      return {
        sha: field(0),
        tree: field(1),
        parents: field(2)
          .split(' ')
          .filter((parent) => parent !== ''),
        author: person(3),
        committer: person(6),
        message: field(9).replace(/\n+$/, ''),
      };
    });
}

export async function isAncestor(
  git: GitProcesses,
  folder: string,
  { ancestor, of }: { ancestor: string; of: string },
): Promise<boolean> {
  return (await git.read(folder, ['merge-base', '--is-ancestor', '--end-of-options', ancestor, of])) !== null;
}

export async function readTree(
  git: GitProcesses,
  folder: string,
  { sha, depth }: { sha: string; depth: 'one' | 'all' },
): Promise<{ entries: GitEntry[]; isComplete: boolean } | null> {
  if (!gitCommitPattern.test(sha)) return null;
  const recursive = depth === 'all' ? ['-r', '-t'] : [];
  const argv = ['ls-tree', '-z', '-l', '--full-tree', ...recursive, '--', sha];
  const output = await git.read(folder, argv, { bytesMax: treeBytesMax, overflow: 'truncate' });
  if (output === null) return null;
  const entries = parseEntries(output);
  const isComplete = output.length <= treeBytesMax && entries.length <= treeEntriesMax;
  return { entries: entries.slice(0, treeEntriesMax), isComplete };
}

export async function readEntry(
  git: GitProcesses,
  folder: string,
  { commit, path }: { commit: string; path: string },
): Promise<GitEntry | null> {
  if (!gitCommitPattern.test(commit) || !isRepositoryPath(path)) return null;
  const output = await git.read(folder, ['ls-tree', '-z', '-l', '--full-tree', '--', commit, path]);
  const [entry] = output === null ? [] : parseEntries(output);
  return entry?.path === path ? entry : null;
}

export function readBlob(
  git: GitProcesses,
  folder: string,
  { sha, bytesMax }: { sha: string; bytesMax: number },
): Promise<Buffer | null> {
  return gitCommitPattern.test(sha)
    ? git.read(folder, ['cat-file', 'blob', sha], { bytesMax })
    : Promise.resolve(null);
}

export function isRepositoryPath(path: string): boolean {
  return (
    path.length <= 4_000 &&
    !/\p{Cc}/u.test(path) &&
    path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
  );
}

function parseEntries(output: Buffer): GitEntry[] {
  const lines = output.toString('utf8').split('\0').slice(0, -1);
  return lines.flatMap((line) => {
    const [matched, mode = '', type = '', sha = '', size = '', path = ''] =
      /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t([\s\S]*)$/.exec(line) ?? [];
    return matched ? [{ mode, type, sha, size: size === '-' ? null : Number(size), path }] : [];
  });
}
