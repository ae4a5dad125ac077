import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BuildError,
  type BuildJob,
  type Built,
  type Limits,
  type LogSink,
  processLimit,
} from '../runtime.ts';
import { type AppUser, findUnsupported } from './app-users.ts';
import { openBuildHome, type ProcessArtifact, removeArtifact, writeArtifactNote } from './artifacts.ts';
import { openBuildCache, runCached } from './build-cache.ts';
import type { ControlGroup } from './control-groups.ts';
import { buildEnvironment, type Folders } from './environment.ts';
import { checkId, emptyPackageJson, listNeighbours, makeRunFolder, writeProcessFile } from './folders.ts';
import { findServices } from './isolation.ts';
import { type LaunchOptions, launch, startGuard } from './launch.ts';
import {
  createGroup,
  limitsToWatch,
  type ProcessDeps,
  toolFolders,
  visibleEnvironment,
} from './process-deps.ts';
import { endTree, type ProcessTree } from './process-trees.ts';
import {
  digestTree,
  findForeignEntry,
  giveTreeToUser,
  makeOwnFolder,
  measureFolders,
  moveTree,
  removeTree,
  resolveFolder,
  takeTreeBack,
} from './trees.ts';

/** Built in the folder where the app will run, because build output often contains absolute paths. */
export async function buildApp(deps: ProcessDeps, job: BuildJob): Promise<Built> {
  const reason = findUnsupported(job) ?? deps.isolation.findProblem();
  if (reason !== null) throw new BuildError('detect', reason);
  job.signal.throwIfAborted();
  if (job.method === 'static') return buildSite(deps, job);
  if (job.plan.dockerfile !== null)
    job.log(
      'platform',
      `This runtime does not build images: ${job.plan.dockerfile} is ignored, and the commands are run instead.`,
    );

  const { buildId, appId } = job;
  const tree = join(deps.layout.artifacts, checkId(buildId));
  await removeTree(tree);
  await writeArtifactNote(deps.layout, buildId, { appId, node: deps.node, state: 'building' });
  try {
    await moveTree(job.sourceDir, tree);
    await mkdir(job.sourceDir, { mode: 0o700 });
    const digest = await buildTree(deps, job, tree);
    const { dir, startCommand } = job.plan;
    const artifact: ProcessArtifact = {
      buildId,
      appId,
      dir,
      startCommand: startCommand ?? '',
      tools: job.tools ?? [],
      builtAt: await realpath(tree),
    };
    await writeArtifactNote(deps.layout, buildId, { appId, node: deps.node, state: 'built', artifact });
    return { artifact: { ...artifact }, digest, filesDir: null };
  } catch (error) {
    await removeArtifact(deps.layout, buildId);
    throw error;
  }
}

async function buildTree(deps: ProcessDeps, job: BuildJob, tree: string): Promise<string> {
  await runCommands(deps, job, tree);
  if ((await resolveFolder(tree, job.plan.dir)) === null)
    throw new BuildError('build', `The build removed the folder ${job.plan.dir}.`);
  return digestTree(tree);
}

async function buildSite(deps: ProcessDeps, job: BuildJob): Promise<Built> {
  await runCommands(deps, job, job.sourceDir);
  const { dir, outputDir } = job.plan;
  const below = join(dir, outputDir ?? '.');
  const filesDir = await resolveFolder(job.sourceDir, below);
  if (filesDir === null) throw new BuildError('build', `The build created no folder ${below}.`);
  const foreign = await findForeignEntry(filesDir, job.sourceDir);
  if (foreign !== null) throw new BuildError('build', `In ${below}, ${foreign}.`);
  return { artifact: {}, digest: await digestTree(filesDir), filesDir };
}

async function runCommands(deps: ProcessDeps, job: BuildJob, tree: string): Promise<void> {
  const { dir, installCommand, buildCommand } = job.plan;
  const folder = await resolveFolder(tree, dir);
  if (folder === null) throw new BuildError('detect', `The source has no folder ${dir}.`);
  const hasCommands = installCommand !== null || buildCommand !== null;
  const sandbox = await openBuildSandbox(deps, job);
  const owner = { users: deps.users, user: sandbox.user };
  try {
    // Remaining processes of an earlier build could write into this one.
    await endTree(sandbox.tree(null));
    if (hasCommands && !publishesWholeSource(job)) await addPackageBoundary(tree);
    const { home } = sandbox.folders;
    const cache = openBuildCache(job, { tree, home, cacheHome: sandbox.cacheHome });
    await giveTreeToUser(tree, owner);
    const deadline = Date.now() + deps.times.buildMsMax;
    const realTree = await realpath(tree);
    const run = (command: string, options: { folder: string; log: LogSink }) =>
      runCommand(deps, { job, sandbox, command, tree: realTree, deadline, ...options });
    await runCached(job, cache, {
      run: (command) => {
        job.log('platform', `$ ${command}`);
        return run(command, { folder, log: job.log });
      },
      runScript: (script) => run(script, { folder: realTree, log: () => {} }),
    });
    const readers = job.method === 'static' ? null : (deps.users.ofInstance(job.number)?.gid ?? null);
    await takeTreeBack(tree, owner, { readers, isCopied: deps.isolation.sandbox !== null });
  } finally {
    await sandbox.close();
  }
}

/** Without a `package.json`, npm would install into the nearest parent folder that has one. */
async function addPackageBoundary(tree: string): Promise<void> {
  await writeFile(join(tree, 'package.json'), emptyPackageJson, { flag: 'wx' }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
}

const publishesWholeSource = ({ method, plan }: BuildJob) =>
  method === 'static' && join(plan.dir, plan.outputDir ?? '.') === '.';

const buildMemoryMbMin = 2048;
const buildCpuMin = 1;
export const buildDiskMbMin = 8_192;
/** Output waits to be stored while there is much of it. */
const outputMsMax = 30_000;

interface BuildSandbox {
  folder: string;
  cacheHome: string;
  folders: Folders;
  limits: Limits;
  user: AppUser | null;
  box(tree: string): LaunchOptions['sandbox'];
  group: ControlGroup | null;
  tree(leader: number | null): ProcessTree;
  lead(leaders: readonly number[]): void;
  close(): Promise<void>;
}

async function openBuildSandbox(deps: ProcessDeps, job: BuildJob): Promise<BuildSandbox> {
  const { layout, users, node } = deps;
  const mark = checkId(job.buildId);
  const folder = join(layout.run, mark);
  const user = users.ofBuilds(job.number);
  const limits = {
    memoryMb: Math.max(buildMemoryMbMin, job.limits.memoryMb),
    cpu: Math.max(buildCpuMin, job.limits.cpu),
    diskMb: Math.max(buildDiskMbMin, job.limits.diskMb),
  };
  makeRunFolder(folder, { node, user });
  const { home, cacheHome } = await openBuildHome(layout, job, user);
  const tmp = join(folder, 'tmp');
  await makeOwnFolder(tmp, user);
  const { sandbox, egress } = deps.isolation;
  const services = await findServices([
    ...Object.values(deps.baseEnvironment.forBuilds),
    ...(job.services ?? []),
  ]);
  const group = createGroup(deps, mark, limits);
  const guard = await startGuard(users, { mark, user });
  const neighbours = () => listNeighbours(layout.run, { mark, user });
  return {
    folder,
    cacheHome,
    folders: { home, tmp: sandbox ? '/tmp' : tmp },
    limits,
    user,
    box: (tree) =>
      sandbox && {
        sandbox,
        box: {
          user,
          folders: [
            ...[tree, home].map((path) => ({ path, isWritable: true })),
            ...(cacheHome === home ? [] : [{ path: cacheHome, isWritable: false }]),
            ...toolFolders(deps.toolchainDir, job.tools ?? []).map((path) => ({ path, isWritable: false })),
          ],
          tmp,
          port: null,
          // A build has to fetch what it needs.
          egress: egress === 'none' ? 'public' : egress,
          ...services,
        },
      },
    group,
    tree: (leader) => ({ mark, users, user, group, leader, neighbours }),
    lead: guard.lead,
    async close() {
      guard.dismiss();
      await group?.remove();
      await removeTree(folder);
    },
  };
}

async function runCommand(
  deps: ProcessDeps,
  step: {
    job: BuildJob;
    sandbox: BuildSandbox;
    command: string;
    tree: string;
    folder: string;
    deadline: number;
    log: LogSink;
  },
): Promise<void> {
  const { job, sandbox, command } = step;
  const { user } = sandbox;
  job.signal.throwIfAborted();
  createGroup(deps, job.buildId, sandbox.limits);
  const memoryKillsBefore = sandbox.group?.memoryKills() ?? 0;
  const launched = await launch(deps.users, {
    command,
    dir: step.folder,
    mark: job.buildId,
    user,
    group: sandbox.group,
    env: buildEnvironment(visibleEnvironment(deps, job.tools ?? []), {
      job: job.env,
      folders: sandbox.folders,
    }),
    processesMax: processLimit(sandbox.limits),
    log: step.log,
    sandbox: sandbox.box(step.tree),
  });
  const { identity, ended, outputEnded } = launched;
  sandbox.lead([identity.pid]);
  writeProcessFile(sandbox.folder, { identity, node: deps.node, user });

  const stopped = Promise.withResolvers<'aborted' | 'timeout' | 'memory' | { disk: string }>();
  const onAbort = () => stopped.resolve('aborted');
  job.signal.addEventListener('abort', onAbort, { once: true });
  if (job.signal.aborted) onAbort();
  const timer = setTimeout(() => stopped.resolve('timeout'), Math.max(0, step.deadline - Date.now()));
  const watching = deps.watch.add({
    leader: identity.pid,
    ...limitsToWatch(deps, sandbox.limits),
    onTooMuch: () => stopped.resolve('memory'),
    onUse: () => {},
  });
  const disk = deps.disk.add({
    measure: (mbMax) => measureFolders([step.tree, sandbox.folders.home, join(sandbox.folder, 'tmp')], mbMax),
    leader: identity.pid,
    mbMax: sandbox.limits.diskMb,
    onTooMuch: (reason) => stopped.resolve({ disk: reason }),
  });
  try {
    const outcome = await Promise.race([ended, stopped.promise]);
    await endTree(sandbox.tree(identity.pid));
    sandbox.lead([]);
    await Promise.race([outputEnded, Bun.sleep(outputMsMax)]);
    const wasKilled = (sandbox.group?.memoryKills() ?? 0) > memoryKillsBefore;
    job.signal.throwIfAborted();
    if (outcome === 'timeout')
      throw new BuildError('build', `The build took longer than ${formatDuration(deps.times.buildMsMax)}.`);
    if (outcome === 'memory' || (wasKilled && typeof outcome === 'object' && 'ok' in outcome && !outcome.ok))
      throw new BuildError('build', `“${command}” ran out of memory (${sandbox.limits.memoryMb} MiB).`);
    if (typeof outcome === 'object' && 'disk' in outcome)
      throw new BuildError('build', `“${command}” ${outcome.disk}.`);
    if (typeof outcome === 'object' && !outcome.ok)
      throw new BuildError('build', `“${command}” ${outcome.how}.`);
  } finally {
    watching.stop();
    disk.stop();
    clearTimeout(timer);
    job.signal.removeEventListener('abort', onAbort);
  }
}

function formatDuration(ms: number): string {
  return ms < 60_000 ? `${ms / 1000} seconds` : `${ms / 60_000} minutes`;
}
