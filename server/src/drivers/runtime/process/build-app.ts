import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BuildFailure, type BuildJob, type Built } from '../runtime.ts';
import { noteArtifact, type ProcessArtifact, removeArtifact } from './artifacts.ts';
import { digestTree } from './digest-tree.ts';
import { endTree } from './end-tree.ts';
import { boundary, checkedId } from './layout.ts';
import type { Parts } from './parts.ts';
import { reasonToRefuse } from './reason-to-refuse.ts';
import { openBuildPlace, runCommand } from './run-command.ts';
import { folderWithin, giveTree, moveTree, removeTree, strangeEntry, takeTree } from './trees.ts';

/**
 * An app is built where it will run, since much of what builds make holds its own path; a static site where its source
 * lies, since only its files are wanted.
 */
export async function buildApp(parts: Parts, job: BuildJob): Promise<Built> {
  const reason = reasonToRefuse(parts.users, job);
  if (reason !== null) throw new BuildFailure('detect', reason);
  job.signal.throwIfAborted();
  if (job.method === 'static') return buildSite(parts, job);
  if (job.plan.dockerfile !== null)
    job.log('platform', `Images are not built here: ${job.plan.dockerfile} is left aside, commands are run.`);

  const { buildId, appId } = job;
  const tree = join(parts.layout.artifacts, checkedId(buildId));
  await removeTree(tree);
  await noteArtifact(parts.layout, buildId, { appId, node: parts.node, state: 'building' });
  try {
    await moveTree(job.sourceDir, tree);
    await mkdir(job.sourceDir, { mode: 0o700 });
    const digest = await buildTree(parts, job, tree);
    const { dir, startCommand } = job.plan;
    const artifact: ProcessArtifact = { buildId, appId, dir, startCommand: startCommand ?? '' };
    await noteArtifact(parts.layout, buildId, { appId, node: parts.node, state: 'built', artifact });
    return { artifact: { ...artifact }, digest, filesDir: null };
  } catch (error) {
    await removeArtifact(parts.layout, buildId);
    throw error;
  }
}

async function buildTree(parts: Parts, job: BuildJob, tree: string): Promise<string> {
  await runCommands(parts, job, tree);
  if ((await folderWithin(tree, job.plan.dir)) === null)
    throw new BuildFailure('build', `The build has removed the folder ${job.plan.dir}.`);
  return digestTree(tree);
}

async function buildSite(parts: Parts, job: BuildJob): Promise<Built> {
  await runCommands(parts, job, job.sourceDir);
  const { dir, outputDir } = job.plan;
  const below = join(dir, outputDir ?? '.');
  const filesDir = await folderWithin(job.sourceDir, below);
  if (filesDir === null) throw new BuildFailure('build', `The build made no folder ${below}.`);
  const strange = await strangeEntry(filesDir, job.sourceDir);
  if (strange !== null) throw new BuildFailure('build', `In ${below}, ${strange}.`);
  return { artifact: {}, digest: await digestTree(filesDir), filesDir };
}

async function runCommands(parts: Parts, job: BuildJob, tree: string): Promise<void> {
  const { dir, installCommand, buildCommand } = job.plan;
  const folder = await folderWithin(tree, dir);
  if (folder === null) throw new BuildFailure('detect', `The source has no folder ${dir}.`);
  const commands = [installCommand, buildCommand].filter((command) => command !== null);
  const place = await openBuildPlace(parts, job);
  const owner = { users: parts.users, user: place.user };
  try {
    // What a build before this one has left, whichever way: it could write what is this one's.
    await endTree(place.tree(null));
    if (commands.length > 0 && !isPublishedWhole(job)) await boundTree(tree);
    await giveTree(tree, owner);
    const deadline = Date.now() + parts.times.buildMsMax;
    for (const command of commands) {
      job.log('platform', `$ ${command}`);
      await runCommand(parts, { job, place, command, folder, deadline });
    }
    await takeTree(tree, owner, job.method === 'static' ? null : readersOf(parts, job));
  } finally {
    await place.close();
  }
}

/** Without a `package.json`, npm would install into the nearest folder above that has one. */
async function boundTree(tree: string): Promise<void> {
  await writeFile(join(tree, 'package.json'), boundary, { flag: 'wx' }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
}

/** Then a file beside its own would be published with them. */
const isPublishedWhole = ({ method, plan }: BuildJob) =>
  method === 'static' && join(plan.dir, plan.outputDir ?? '.') === '.';

/** The group of its instances. */
const readersOf = ({ users }: Parts, { number }: BuildJob) => users.ofInstance(number)?.gid ?? null;
