import { type ChildProcess, spawn } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { runTar } from '../../../core/run-tar.ts';
import type { AppUser } from './app-users.ts';
import { type ProcessArtifact, removeArtifact, touchNote, writeArtifactNote } from './artifacts.ts';
import type { ProcessDeps } from './process-deps.ts';
import { digestTree, makeOwnFolder, removeTree, resolveFolder, takeTreeBack } from './trees.ts';

type PackDeps = Pick<ProcessDeps, 'layout' | 'node' | 'users' | 'isolation'>;

export interface PackedFile {
  path: string;
  /** Opens the file: a path that the server names must not lead to files of root. Null: the user of this process. */
  openedBy: AppUser | null;
}

export async function hasBuild({ layout }: PackDeps, { buildId }: ProcessArtifact): Promise<boolean> {
  return (await touchNote(layout, buildId)) && (await resolveFolder(layout.artifacts, buildId)) !== null;
}

/** No app can write into the tree any more, so that root may read it. */
export async function packBuild(deps: PackDeps, artifact: ProcessArtifact, file: PackedFile): Promise<void> {
  const { layout, node } = deps;
  const tree = await resolveFolder(layout.artifacts, artifact.buildId);
  if (tree === null) throw new Error(`The artifact of build ${artifact.buildId} does not exist.`);
  const tar = spawn('tar', ['--create', '--file=-', '--format=pax', '--numeric-owner', '.'], {
    cwd: tree,
    env: { PATH: programPath, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const packed = endOf(tar, 'tar');
  const { stream, written } = openForWriting(file);
  try {
    await pipeline(tar.stdout, stream);
    await Promise.all([packed, written]);
  } finally {
    tar.kill('SIGKILL');
    await Promise.allSettled([packed, written]);
  }
  const { size: bytes } = await stat(file.path);
  const { appId } = artifact;
  await writeArtifactNote(layout, artifact.buildId, { appId, node, state: 'built', artifact, bytes });
}

/** Unpacked by a user of its own: nothing that runs can write into the tree meanwhile. */
export async function unpackBuild(
  deps: PackDeps,
  artifact: ProcessArtifact,
  { number, digest, ...file }: PackedFile & { number: number; digest: string | null },
): Promise<void> {
  const { layout, node, users, isolation } = deps;
  const { buildId, appId } = artifact;
  const tree = join(layout.artifacts, buildId);
  const user = users.ofInstance(number);
  await writeArtifactNote(layout, buildId, { appId, node, state: 'building' });
  try {
    await removeTree(tree);
    await makeOwnFolder(tree, user);
    const { stream, ended } = openForReading(file);
    await runTar(stream, { into: tree, runAs: user ?? undefined, hasTimes: true });
    await ended;
    const isCopied = isolation.sandbox !== null;
    await takeTreeBack(tree, { users, user }, { readers: user?.gid ?? null, isCopied });
    if (digest !== null && (await digestTree(tree)) !== digest)
      throw new Error(`The stored build ${buildId} is not what was built.`);
    const { size: bytes } = await stat(file.path);
    await writeArtifactNote(layout, buildId, { appId, node, state: 'built', artifact, bytes });
  } catch (error) {
    await removeArtifact(layout, buildId);
    throw error;
  }
}

const programPath = '/usr/local/bin:/usr/bin:/bin';

function openForWriting({ path, openedBy }: PackedFile) {
  if (openedBy === null)
    return { stream: createWriteStream(path, { flags: 'w', mode: 0o600 }), written: Promise.resolve() };
  const child = spawnAs(openedBy, 'umask 077; exec cat >"./$0"', path, 'pipe', 'ignore');
  return { stream: child.stdin as NonNullable<typeof child.stdin>, written: endOf(child, 'cat') };
}

function openForReading({ path, openedBy }: PackedFile) {
  if (openedBy === null) return { stream: createReadStream(path), ended: Promise.resolve() };
  const child = spawnAs(openedBy, 'exec cat <"./$0"', path, 'ignore', 'pipe');
  return { stream: child.stdout as NonNullable<typeof child.stdout>, ended: endOf(child, 'cat') };
}

/** Starts in the file's folder, which may be below one that only root can enter. */
function spawnAs({ uid, gid }: AppUser, script: string, path: string, stdin: Pipe, stdout: Pipe) {
  const ids = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups', '--no-new-privs', '--'];
  return spawn('setpriv', [...ids, '/bin/sh', '-c', script, basename(path)], {
    cwd: dirname(path),
    env: { PATH: programPath },
    stdio: [stdin, stdout, 'ignore'],
  });
}

type Pipe = 'pipe' | 'ignore';

function endOf(child: ChildProcess, name: string): Promise<void> {
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${name} ended with ${code ?? 'a signal'}.`)),
    );
  });
  ended.catch(() => {});
  return ended;
}
