import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BuildFailure, type BuildJob, type Built } from '../runtime.ts';
import { noteArtifact, type ProcessArtifact, removeArtifact } from './artifacts.ts';
import { digestTree } from './digest-tree.ts';
import { checkedId } from './layout.ts';
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

  const { deploymentId, appId } = job;
  const tree = join(parts.layout.artifacts, checkedId(deploymentId));
  await removeTree(tree);
  await noteArtifact(parts.layout, deploymentId, { appId, node: parts.node, state: 'building' });
  try {
    await moveTree(job.sourceDir, tree);
    await mkdir(job.sourceDir, { mode: 0o700 });
    const digest = await buildTree(parts, job, tree);
    const { dir, startCommand } = job.plan;
    const artifact: ProcessArtifact = { deploymentId, appId, dir, startCommand: startCommand ?? '' };
    await noteArtifact(parts.layout, deploymentId, { appId, node: parts.node, state: 'built' });
    return { artifact: { ...artifact }, digest, filesDir: null };
  } catch (error) {
    await removeArtifact(parts.layout, deploymentId);
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
  const user = parts.users.of(job.number);
  await giveTree(tree, user);
  const place = await openBuildPlace(parts, job);
  try {
    const deadline = Date.now() + parts.times.buildMsMax;
    for (const command of commands) {
      job.log('platform', `$ ${command}`);
      await runCommand(parts, { job, place, command, folder, deadline });
    }
  } finally {
    await place.close();
  }
  await takeTree(tree, user);
}
