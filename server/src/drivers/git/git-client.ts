import { chmod, mkdir, mkdtemp, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gitCommitPattern, isGitRef } from '@svc/contract/git-names.ts';
import { copyFiles, createLocalLauncher, type GitLauncher, openToGroup } from './git-launcher.ts';
import { checkTreeSize, GitError, type RunGit, readMessage, runGit } from './run-git.ts';

/** Without a shell, user configuration, prompts, hooks, other protocols than HTTP(S), or passwords in arguments. */
export interface GitClient {
  checkOut(job: CheckOut): Promise<{ sha: string; message: string }>;
  pushFirst(job: PushFirst): Promise<{ sha: string } | null>;
  copyBranch(job: CopyBranch): Promise<{ sha: string } | null>;
}

export interface Remote {
  url: string;
  username: string;
  password: string;
}

interface CheckOut {
  from: Remote;
  ref: string;
  into: string;
  signal: AbortSignal;
  bytesMax: number;
}

interface PushFirst {
  to: Remote;
  branch: string;
  folder: string;
  author: { name: string; email: string };
  message: string;
  /** Commit time. Fixed, so that a retry creates the same commit. */
  at: Date;
  signal: AbortSignal;
}

interface CopyBranch {
  from: Remote;
  fromRef: string;
  to: Remote;
  branch: string;
  signal: AbortSignal;
  bytesMax?: number;
  edit?: Edit;
}

interface Edit {
  names: readonly string[];
  fileBytesMax: number;
  change(text: string): string | null;
  author: PushFirst['author'];
  message: string;
  at: Date;
}

const packCheckMs = 250;
const copiedBytesMax = 2 * 1024 ** 3;

interface GitClientOptions {
  workDir: string;
  path: string;
  launcher?: GitLauncher;
}

export function createGitClient({
  workDir,
  path,
  launcher = createLocalLauncher(),
}: GitClientOptions): GitClient {
  const git: Git = (run) => runGit({ ...run, path, launcher });
  const inFolder = <T>(work: (folder: string) => Promise<T>) =>
    inTemporaryFolder({ workDir, launcher }, work);
  return {
    async checkOut(job) {
      checkRemote(job.from);
      checkRef(job.ref);
      await mkdir(job.into, { recursive: true });
      if (!launcher.isOtherUser) return checkOut(git, job, { path, launcher });
      return inFolder(async (folder) => {
        const found = await checkOut(git, { ...job, into: folder }, { path, launcher });
        await copyFiles(folder, job.into);
        return found;
      });
    },
    pushFirst: (job) =>
      inFolder(async (gitDir) => {
        if (!launcher.isOtherUser) return pushFirst(git, job, gitDir);
        return inFolder(async (folder) => {
          await copyFiles(job.folder, folder);
          await openToGroup(folder);
          return pushFirst(git, { ...job, folder }, gitDir);
        });
      }),
    copyBranch: (job) => inFolder((folder) => copyBranch(git, { bytesMax: copiedBytesMax, ...job }, folder)),
  };
}

async function checkOut(
  git: Git,
  { from, ref, into, signal, bytesMax }: CheckOut,
  { path, launcher }: Pick<RunGit, 'path' | 'launcher'>,
) {
  const gitDir = join(into, '.git');
  await git({ args: ['init', '--quiet', '.'], cwd: into, signal });
  const fetch = ['fetch', '--quiet', '--depth=1', '--no-tags', '--', from.url, ref];
  await withSizeLimit({ folder: gitDir, bytesMax, signal }, (limit) =>
    git({ args: fetch, cwd: into, signal: limit, remote: from }),
  );
  const sha = (await git({ args: ['rev-parse', 'FETCH_HEAD^{commit}'], cwd: into, signal })).trim();
  await checkTreeSize({ launcher, path, cwd: into, sha, bytesMax, signal });
  const message = await readMessage({ launcher, path, cwd: into, sha, signal });
  await git({ args: ['checkout', '--quiet', '--force', '--detach', sha], cwd: into, signal });
  await launcher.remove(gitDir);
  return { sha, message: message.trim() };
}

async function withSizeLimit(
  { folder, bytesMax, signal }: { folder: string; bytesMax: number; signal: AbortSignal },
  work: (limit: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const tooLarge = new AbortController();
  const checkSize = async () => {
    if ((await packBytes(folder)) > bytesMax)
      tooLarge.abort(new GitError('too_large', 'The source is larger than allowed.'));
  };
  const timer = setInterval(() => void checkSize(), packCheckMs);
  try {
    await work(AbortSignal.any([signal, tooLarge.signal]));
  } finally {
    clearInterval(timer);
  }
  await checkSize();
  tooLarge.signal.throwIfAborted();
}

async function packBytes(folder: string): Promise<number> {
  const packs = new Bun.Glob('objects/pack/*').scan({ cwd: folder, dot: true, onlyFiles: true });
  let bytes = 0;
  try {
    for await (const name of packs) bytes += (await stat(join(folder, name))).size;
  } catch {
    // A pack was renamed between listing and stat.
  }
  return bytes;
}

async function pushFirst(gitAt: Git, job: PushFirst, gitDir: string): Promise<{ sha: string } | null> {
  const { to, branch, folder, author, message, at, signal } = job;
  checkRemote(to);
  checkBranch(branch);
  const env = { GIT_DIR: gitDir, GIT_WORK_TREE: folder, ...authorEnvironment({ author, at }) };
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
  await withSizeLimit({ folder: gitDir, bytesMax, signal }, (limit) =>
    git({ args: fetch, cwd: gitDir, signal: limit, remote: from }),
  );
  const sha = (await git({ args: ['rev-parse', 'FETCH_HEAD^{commit}'], cwd: gitDir, signal })).trim();
  const top = job.edit ? await commitEdit(git, { sha, gitDir, signal, edit: job.edit }) : sha;
  return pushIfEmpty(git, { to, branch, sha: top, cwd: gitDir, signal });
}

/** A retry after an interruption finds its own commit and succeeds. */
async function pushIfEmpty(
  git: Git,
  {
    to,
    branch,
    sha,
    cwd,
    signal,
  }: Pick<PushFirst, 'to' | 'branch' | 'signal'> & { sha: string; cwd: string },
): Promise<{ sha: string } | null> {
  // The work tree that the repository names does not exist in the sandbox.
  const at = { cwd, signal, remote: to, env: { GIT_DIR: cwd, GIT_WORK_TREE: cwd } };
  const listed = await git({ ...at, args: ['ls-remote', '--quiet', '--', to.url] });
  const heads = listed.split('\n').filter((line) => line.includes('\trefs/'));
  if (heads.length > 0) return heads.includes(`${sha}\trefs/heads/${branch}`) ? { sha } : null;
  await git({ ...at, args: ['push', '--quiet', '--', to.url, `${sha}:refs/heads/${branch}`] });
  return { sha };
}

async function inTemporaryFolder<T>(
  { workDir, launcher }: { workDir: string; launcher: GitLauncher },
  work: (folder: string) => Promise<T>,
): Promise<T> {
  await mkdir(workDir, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(workDir, 'git-'));
  try {
    await launcher.share(folder);
    return await work(folder);
  } finally {
    await launcher.remove(folder);
  }
}

function checkRemote({ url }: Remote): void {
  const parsed = URL.parse(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.password || parsed.search)
    throw new GitError('refused', 'The URL of the repository is invalid.');
}

function checkRef(ref: string): void {
  if (!isGitRef(ref) && !gitCommitPattern.test(ref))
    throw new GitError('not_found', 'Not a valid name of a branch, tag or commit.');
}

function checkBranch(branch: string): void {
  if (!isGitRef(branch)) throw new GitError('not_found', 'Not a valid name of a branch.');
}

type Git = (run: Omit<RunGit, 'path' | 'launcher'>) => Promise<string>;

async function commitEdit(
  gitAt: Git,
  { sha, gitDir, signal, edit }: { sha: string; gitDir: string; signal: AbortSignal; edit: Edit },
): Promise<string> {
  const env = { GIT_DIR: gitDir, GIT_INDEX_FILE: join(gitDir, 'edit-index'), ...authorEnvironment(edit) };
  const git = (...args: string[]) => gitAt({ args, cwd: gitDir, signal, env });
  const changed: string[] = [];
  for (const file of parseFiles(await git('ls-tree', '-l', '-z', sha, '--', ...edit.names))) {
    if (file.bytes > edit.fileBytesMax) continue;
    const text = await git('cat-file', 'blob', file.blob);
    const after = isText(text, file.bytes) ? edit.change(text) : null;
    if (after === null || after === text) continue;
    const temporaryFile = join(gitDir, 'edit-file');
    await writeFile(temporaryFile, after);
    // Git may have another user, and the server a strict umask.
    await chmod(temporaryFile, 0o644);
    const blob = (await git('hash-object', '-w', '--no-filters', '--', temporaryFile)).trim();
    changed.push('--cacheinfo', `${file.mode},${blob},${file.name}`);
  }
  if (changed.length === 0) return sha;
  await git('read-tree', sha);
  await git('update-index', ...changed);
  const tree = (await git('write-tree')).trim();
  return (await git('commit-tree', tree, '-p', sha, '-m', edit.message)).trim();
}

function parseFiles(text: string) {
  return [...text.matchAll(/(100644|100755) blob ([0-9a-f]{40,64}) +(\d+)\t([^\0]+)\0/g)].map(
    ([, mode = '', blob = '', bytes, name = '']) => ({ mode, blob, bytes: Number(bytes), name }),
  );
}

/** Text that is not UTF-8 would be changed by reading and writing. */
const isText = (text: string, bytes: number) => Buffer.byteLength(text) === bytes && !text.includes('\ufffd');

function authorEnvironment({ author, at }: Pick<PushFirst, 'author' | 'at'>): Record<string, string> {
  const date = `${Math.floor(at.getTime() / 1000)} +0000`;
  const [name, email] = [cleanName(author.name), cleanName(author.email)];
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    GIT_COMMITTER_DATE: date,
  };
}

function cleanName(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are removed here.
  return text.replace(/[<>\n\r\u0000-\u001f]/g, ' ').trim() || 'svc';
}

const hourMs = 3600_000;

export async function removeStaleGitFolders(
  workDir: string,
  now: Date,
  launcher: GitLauncher = createLocalLauncher(),
): Promise<void> {
  for (const name of await readdir(workDir).catch(() => [])) {
    const folder = join(workDir, name);
    const facts = await stat(folder).catch(() => null);
    if (name.startsWith('git-') && facts && now.getTime() - facts.mtimeMs > hourMs)
      await launcher.remove(folder);
  }
}
