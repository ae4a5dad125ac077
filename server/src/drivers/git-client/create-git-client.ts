import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { gitCommitPattern, isGitRef } from '@svc/contract/git-names.ts';
import { commitEdit, type Git } from './commit-edit.ts';
import {
  type CheckOut,
  type CopyBranch,
  type GitClient,
  GitFailure,
  type PushFirst,
  type Remote,
} from './git-client.ts';
import { messageOf } from './message-of.ts';
import { refuseLarge } from './refuse-large.ts';
import { runGit } from './run-git.ts';
import { signature } from './signature.ts';

const packLookMs = 250;
/** Of a branch that is copied, with its history. */
const copiedBytesMax = 2 * 1024 ** 3;

/** `workDir` holds what is needed for as long as a job takes; `path` is where git is looked for. */
export function createGitClient({ workDir, path }: { workDir: string; path: string }): GitClient {
  const git: Git = (run) => runGit({ ...run, path });
  return {
    checkOut: (job) => checkOut(git, job, path),
    pushFirst: (job) => inFolder(workDir, (folder) => pushFirst(git, job, folder)),
    copyBranch: (job) =>
      inFolder(workDir, (folder) => copyBranch(git, { bytesMax: copiedBytesMax, ...job }, folder)),
  };
}

async function checkOut(git: Git, { from, ref, into, signal, bytesMax }: CheckOut, path: string) {
  checkRemote(from);
  checkRef(ref);
  await mkdir(into, { recursive: true });
  const gitDir = join(into, '.git');
  await git({ args: ['init', '--quiet', '.'], cwd: into, signal });
  await limited({ folder: gitDir, bytesMax, signal }, (limit) =>
    git({
      args: ['fetch', '--quiet', '--depth=1', '--no-tags', '--', from.url, ref],
      cwd: into,
      signal: limit,
      remote: from,
    }),
  );
  const sha = (await git({ args: ['rev-parse', 'FETCH_HEAD^{commit}'], cwd: into, signal })).trim();
  await refuseLarge({ path, cwd: into, sha, bytesMax, signal });
  const message = await messageOf({ path, cwd: into, sha, signal });
  await git({ args: ['checkout', '--quiet', '--force', '--detach', sha], cwd: into, signal });
  await rm(gitDir, { recursive: true, force: true });
  return { sha, message: message.trim() };
}

/** Stops what fetches more than allowed, while it does. */
async function limited(
  { folder, bytesMax, signal }: { folder: string; bytesMax: number; signal: AbortSignal },
  work: (limit: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const tooLarge = new AbortController();
  const look = async () => {
    if ((await packBytes(folder)) > bytesMax)
      tooLarge.abort(new GitFailure('too_large', 'The source is larger than allowed.'));
  };
  const looking = setInterval(() => void look(), packLookMs);
  try {
    await work(AbortSignal.any([signal, tooLarge.signal]));
  } finally {
    clearInterval(looking);
  }
  await look();
  tooLarge.signal.throwIfAborted();
}

async function packBytes(folder: string): Promise<number> {
  const packs = new Bun.Glob('objects/pack/*').scan({ cwd: folder, dot: true, onlyFiles: true });
  let bytes = 0;
  try {
    for await (const name of packs) bytes += (await stat(join(folder, name))).size;
  } catch {
    // A pack was renamed between the two looks.
  }
  return bytes;
}

async function pushFirst(gitAt: Git, job: PushFirst, gitDir: string): Promise<{ sha: string } | null> {
  const { to, branch, folder, author, message, at, signal } = job;
  checkRemote(to);
  checkBranch(branch);
  const env = { GIT_DIR: gitDir, GIT_WORK_TREE: folder, ...signature({ author, at }) };
  const git = (args: string[]) => gitAt({ args, cwd: folder, signal, env });
  await git(['init', '--quiet']);
  await git(['add', '--all', '--', '.']);
  await git(['commit', '--quiet', '--allow-empty', '-m', message]);
  const sha = (await git(['rev-parse', 'HEAD'])).trim();
  return pushIfEmpty(gitAt, { to, branch, sha, cwd: gitDir, signal });
}

async function copyBranch(
  git: Git,
  job: CopyBranch & { bytesMax: number },
  gitDir: string,
): Promise<{ sha: string } | null> {
  const { from, fromRef, to, branch, signal, bytesMax } = job;
  for (const remote of [from, to]) checkRemote(remote);
  checkRef(fromRef);
  checkBranch(branch);
  await git({ args: ['init', '--quiet', '--bare', '.'], cwd: gitDir, signal });
  const fetch = ['fetch', '--quiet', '--no-tags', '--', from.url, fromRef];
  await limited({ folder: gitDir, bytesMax, signal }, (limit) =>
    git({ args: fetch, cwd: gitDir, signal: limit, remote: from }),
  );
  const sha = (await git({ args: ['rev-parse', 'FETCH_HEAD^{commit}'], cwd: gitDir, signal })).trim();
  const top = job.edit ? await commitEdit(git, { sha, gitDir, signal, edit: job.edit }) : sha;
  return pushIfEmpty(git, { to, branch, sha: top, cwd: gitDir, signal });
}

interface PushIfEmpty {
  to: Remote;
  branch: string;
  sha: string;
  cwd: string;
  signal: AbortSignal;
}

/** Tried again after it was cut off, it finds its own commit there, and is done. */
async function pushIfEmpty(
  git: Git,
  { to, branch, sha, cwd, signal }: PushIfEmpty,
): Promise<{ sha: string } | null> {
  const at = { cwd, signal, remote: to, env: { GIT_DIR: cwd } };
  const listed = await git({ ...at, args: ['ls-remote', '--quiet', '--', to.url] });
  const heads = listed.split('\n').filter((line) => line.includes('\trefs/'));
  if (heads.length > 0) return heads.includes(`${sha}\trefs/heads/${branch}`) ? { sha } : null;
  await git({ ...at, args: ['push', '--quiet', '--', to.url, `${sha}:refs/heads/${branch}`] });
  return { sha };
}

async function inFolder<T>(workDir: string, work: (folder: string) => Promise<T>): Promise<T> {
  await mkdir(workDir, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(workDir, 'git-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function checkRemote({ url }: Remote): void {
  const parsed = URL.parse(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.password || parsed.search)
    throw new GitFailure('refused', 'The address of the repository is none.');
}

function checkRef(ref: string): void {
  if (!isGitRef(ref) && !gitCommitPattern.test(ref))
    throw new GitFailure('not_found', 'There can be no branch, tag or commit of this name.');
}

function checkBranch(branch: string): void {
  if (!isGitRef(branch)) throw new GitFailure('not_found', 'There can be no branch of this name.');
}
