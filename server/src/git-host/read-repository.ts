import { gitCommitPattern, isGitRef } from '@svc/contract/git-names.ts';
import type { GitProcesses } from './git-processes.ts';
import type { Refs } from './repos-store.ts';

export interface GitPerson {
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
  /** Of files. */
  size: number | null;
  path: string;
}

const shortCommitPattern = /^[0-9a-f]{7,39}$/;
const commitFormat = '%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B%x00%x1e';
/** Beyond it a tree is cut off. */
const treeEntriesMax = 100_000;
const treeBytesMax = 7 * 1024 * 1024;

/** Branches and tags. */
export async function readRefs(git: GitProcesses, folder: string): Promise<Refs> {
  const argv = ['for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads/', 'refs/tags/'];
  const text = (await git.read(folder, argv))?.toString('utf8');
  if (text === undefined) throw new Error('The refs of a repository could not be read.');
  const lines = text.split('\n').filter((line) => line !== '');
  return Object.fromEntries(lines.map((line) => [line.slice(41), line.slice(0, 40)]));
}

/** The commit of a branch, a tag, `HEAD` or a commit; null where there is none. */
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

/** The newest first; what `not` holds is left out. Empty also where it is no commit. */
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
    .map(
      ([
        id = '',
        tree = '',
        parents = '',
        an = '',
        ae = '',
        ad = '',
        cn = '',
        ce = '',
        cd = '',
        body = '',
      ]) => ({
        sha: id,
        tree,
        parents: parents.split(' ').filter((parent) => parent !== ''),
        author: { name: an, email: ae, date: ad },
        committer: { name: cn, email: ce, date: cd },
        message: body.replace(/\n+$/, ''),
      }),
    );
}

export async function isAncestor(
  git: GitProcesses,
  folder: string,
  { of, is }: { of: string; is: string },
): Promise<boolean> {
  return (await git.read(folder, ['merge-base', '--is-ancestor', '--end-of-options', is, of])) !== null;
}

/** Of a tree or of a commit, as far as anybody reads it; null where it is neither. */
export async function readTree(
  git: GitProcesses,
  folder: string,
  { sha, depth }: { sha: string; depth: 'one' | 'all' },
): Promise<{ entries: GitEntry[]; isWhole: boolean } | null> {
  if (!gitCommitPattern.test(sha)) return null;
  const recursive = depth === 'all' ? ['-r', '-t'] : [];
  const argv = ['ls-tree', '-z', '-l', '--full-tree', ...recursive, '--', sha];
  const output = await git.read(folder, argv, { bytesMax: treeBytesMax, beyond: 'cut' });
  if (output === null) return null;
  const entries = entriesOf(output);
  const isWhole = output.length <= treeBytesMax && entries.length <= treeEntriesMax;
  return { entries: entries.slice(0, treeEntriesMax), isWhole };
}

/** What is at a path, whatever it is; null where there is nothing. */
export async function readEntry(
  git: GitProcesses,
  folder: string,
  { commit, path }: { commit: string; path: string },
): Promise<GitEntry | null> {
  if (!gitCommitPattern.test(commit) || !isRepositoryPath(path)) return null;
  const output = await git.read(folder, ['ls-tree', '-z', '-l', '--full-tree', '--', commit, path]);
  const [entry] = output === null ? [] : entriesOf(output);
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

/** A path inside a repository: no way out of it, no way around. */
export function isRepositoryPath(path: string): boolean {
  return (
    path.length <= 4_000 &&
    !/\p{Cc}/u.test(path) &&
    path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
  );
}

function entriesOf(output: Buffer): GitEntry[] {
  // Behind the last of them is nothing, or one that was cut off.
  const lines = output.toString('utf8').split('\0').slice(0, -1);
  return lines.flatMap((line) => {
    const [matched, mode = '', type = '', sha = '', size = '', path = ''] =
      /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t([\s\S]*)$/.exec(line) ?? [];
    return matched ? [{ mode, type, sha, size: size === '-' ? null : Number(size), path }] : [];
  });
}
