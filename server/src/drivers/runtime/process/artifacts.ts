import { type ChildProcess, spawn } from 'node:child_process';
import { createReadStream, createWriteStream, readdirSync } from 'node:fs';
import { lchown, lstat, rm, stat, utimes } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { runTar } from '../../../core/run-tar.ts';
import { readIfExists, writeDurably } from '../../os/files.ts';
import type { Artifact, BuildJob, StoredArtifact } from '../runtime.ts';
import type { AppUser } from './app-users.ts';
import { moveBuildCache } from './build-cache.ts';
import { checkId, type Layout } from './folders.ts';
import type { ProcessDeps } from './process-deps.ts';
import { digestTree, makeOwnFolder, removeTree, resolveFolder, takeTreeBack } from './trees.ts';

export interface ProcessArtifact {
  buildId: string;
  appId: string;
  dir: string;
  startCommand: string;
  tools: readonly string[];
  /** The path of the tree during the build. Null: earlier builds do not say. */
  builtAt: string | null;
}

interface ArtifactNote {
  appId: string;
  node: string;
  state: 'building' | 'built';
  artifact?: ProcessArtifact;
  /** About the size of the tree, if it was packed or unpacked. */
  bytes?: number;
}

export function parseArtifact(artifact: Artifact): ProcessArtifact | null {
  const { buildId, appId, dir, startCommand, tools = [], builtAt = null } = artifact;
  if (typeof dir !== 'string' || typeof startCommand !== 'string') return null;
  if (!Array.isArray(tools)) return null;
  if (builtAt !== null && !isTreePath(builtAt, checkId(buildId))) return null;
  return { buildId: checkId(buildId), appId: checkId(appId), dir, startCommand, tools, builtAt };
}

/** It becomes a path in the sandbox of the app, where it must not cover anything. */
const isTreePath = (path: unknown, buildId: string): path is string =>
  typeof path === 'string' &&
  isAbsolute(path) &&
  normalize(path) === path &&
  path.endsWith(`/runtime/artifacts/${buildId}`);

export async function writeArtifactNote(layout: Layout, buildId: string, note: ArtifactNote): Promise<void> {
  writeDurably(notePath(layout, buildId), `${JSON.stringify(note)}\n`);
}

/** The time of the note is that of the last use. False if there is no finished build. */
async function touchNote(layout: Layout, buildId: string): Promise<boolean> {
  const note = readNote(notePath(layout, buildId));
  if (note?.state !== 'built') return false;
  const now = new Date();
  await utimes(notePath(layout, buildId), now, now);
  return true;
}

export async function removeArtifact(layout: Layout, buildId: string): Promise<void> {
  await removeTree(join(layout.artifacts, checkId(buildId)));
  await rm(notePath(layout, buildId), { force: true });
}

export async function discardArtifact(layout: Layout, { buildId, appId }: ProcessArtifact): Promise<void> {
  await removeArtifact(layout, buildId);
  if (listNotes(layout).some(({ note }) => note.appId === appId)) return;
  for (const home of [buildHome(layout, appId), ...listReviewHomes(layout, appId)]) {
    // Take ownership first, so that a build that still runs cannot enter.
    if (process.getuid?.() === 0) await lchown(home, 0, 0).catch(() => {});
    await removeTree(home);
  }
}

export async function removeUnfinishedBuilds(layout: Layout, nodes: readonly string[]): Promise<void> {
  for (const { buildId, note } of listNotes(layout)) {
    if (note.state === 'building' && nodes.includes(note.node)) await removeArtifact(layout, buildId);
  }
}

interface BuildHome {
  home: string;
  /** The home folder whose build cache is used: another one is only read. */
  cacheHome: string;
}

/** A build for a review has a home folder of its own. Its cache is used by later ones once it was approved. */
export async function openBuildHome(
  layout: Layout,
  job: Pick<BuildJob, 'appId' | 'deploymentId' | 'isReviewed' | 'liveDeploymentId'>,
  user: AppUser | null,
): Promise<BuildHome> {
  if (job.isReviewed) {
    const cacheHome = `${buildHome(layout, job.appId)}-approved`;
    await ensureHome(cacheHome, user);
    const waiting = (deploymentId: string) => `${buildHome(layout, job.appId)}-${checkId(deploymentId)}`;
    if (job.liveDeploymentId) await moveBuildCache(waiting(job.liveDeploymentId), cacheHome);
    for (const other of listReviewHomes(layout, job.appId)) if (other !== cacheHome) await removeTree(other);
    const home = waiting(job.deploymentId);
    await makeOwnFolder(home, user);
    return { home, cacheHome };
  }
  const home = buildHome(layout, job.appId);
  await ensureHome(home, user);
  return { home, cacheHome: home };
}

async function ensureHome(home: string, user: AppUser | null): Promise<void> {
  const found = await lstat(home).catch(() => null);
  if (found && (user === null || found.uid === user.uid)) return;
  await removeTree(home);
  await makeOwnFolder(home, user);
}

const buildHome = (layout: Layout, appId: string) => join(layout.homes, checkId(appId));

const listReviewHomes = (layout: Layout, appId: string) =>
  readdirSync(layout.homes)
    .filter((name) => name.startsWith(`${appId}-`))
    .map((name) => join(layout.homes, name));

const notePath = (layout: Layout, buildId: string) => join(layout.artifacts, `${checkId(buildId)}.json`);

function listNotes(layout: Layout): { buildId: string; note: ArtifactNote }[] {
  return readdirSync(layout.artifacts)
    .filter((name) => name.endsWith('.json'))
    .map((name) => ({
      buildId: name.slice(0, -'.json'.length),
      note: readNote(join(layout.artifacts, name)),
    }))
    .filter((found): found is { buildId: string; note: ArtifactNote } => found.note !== null);
}

/** Null if another process has just removed it. */
function readNote(path: string): ArtifactNote | null {
  const text = readIfExists(path);
  return text === null ? null : (JSON.parse(text) as ArtifactNote);
}

export async function listArtifacts(layout: Layout): Promise<StoredArtifact[]> {
  const found = await Promise.all(
    listNotes(layout).map(async ({ buildId, note: { appId, artifact, bytes = 0 } }) => {
      const facts = await stat(notePath(layout, buildId)).catch(() => null);
      return artifact && facts
        ? [{ appId, artifact: { ...artifact }, bytes, usedAt: facts.mtime.toISOString() }]
        : [];
    }),
  );
  return found.flat();
}

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
