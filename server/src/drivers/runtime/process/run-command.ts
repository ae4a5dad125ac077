import { join } from 'node:path';
import { processLimit, type RunJob, type RunResult } from '../runtime.ts';
import { runEnvironment } from './environment.ts';
import { checkId, listNeighbours, makeRunFolder, planRunFiles, writeProcessFile } from './folders.ts';
import { findServices } from './isolation.ts';
import { type ExitResult, launch, startGuard } from './launch.ts';
import {
  createGroup,
  limitsToWatch,
  type ProcessDeps,
  toolFolders,
  visibleEnvironment,
} from './process-deps.ts';
import { endTree, listLiving, type ProcessTree, requestEnd } from './process-trees.ts';
import { type Measured, removeTree } from './trees.ts';

export interface CommandOptions {
  job: RunJob;
  /** The artifact, and its path and that of the app's folder in the sandbox. */
  tree: string;
  treeInside: string;
  dir: string;
  tools: readonly string[];
  /** For `PORT`, which some programs require; nothing is routed to it. */
  port: number;
}

type Ending = ExitResult | { stopped: string | null };

const stopGraceMs = 10_000;
/** Output waits to be stored while there is much of it. */
const outputMsMax = 30_000;

/** As an instance runs: its own user, a private copy of the files, the same limits; gone when it ends. */
export async function runCommand(deps: ProcessDeps, options: CommandOptions): Promise<RunResult> {
  const { job, tools } = options;
  const { users, node } = deps;
  job.signal.throwIfAborted();
  const mark = checkId(job.runId);
  const user = users.ofInstance(job.number);
  const folder = join(deps.layout.run, mark);
  const { sandbox, egress } = deps.isolation;
  const services = await findServices(job.services ?? []);
  makeRunFolder(folder, { node, user });
  const files = planRunFiles(deps, { ...options, folder, user });
  const { home, tmp, dir } = files;
  await files.create();
  const group = createGroup(deps, mark, job.limits);
  const guard = await startGuard(users, { mark, user });
  const neighbours = () => listNeighbours(deps.layout.run, { mark, user });
  const treeWith = (leader: number | null): ProcessTree => ({
    mark,
    users,
    user,
    group,
    leader,
    neighbours,
    isSandboxed: sandbox !== null,
  });
  let leader: number | null = null;
  try {
    const launched = await launch(users, {
      command: job.command,
      dir,
      mark,
      user,
      group,
      env: runEnvironment(visibleEnvironment(deps, tools), {
        job: job.env,
        folders: { home, tmp: sandbox ? '/tmp' : tmp },
        port: options.port,
        preload: sandbox ? null : deps.layout.preload,
      }),
      processesMax: processLimit(job.limits),
      log: job.log,
      sandbox: sandbox && {
        sandbox,
        box: {
          user,
          folders: [
            ...files.mounted,
            ...toolFolders(deps.toolchainDir, tools).map((path) => ({ path, isWritable: false })),
          ],
          tmp,
          port: null,
          egress,
          ...services,
        },
      },
    });
    leader = launched.identity.pid;
    guard.lead([leader]);
    writeProcessFile(folder, { identity: launched.identity, node, user });
    const ending = await waitForEnd(deps, {
      job,
      leader,
      ended: launched.ended,
      measure: files.measure,
    });
    if ('stopped' in ending) await stopGracefully(treeWith(leader), launched.ended);
    await endTree(treeWith(leader));
    const isWhole = await Promise.race([
      launched.outputEnded.then(() => true),
      Bun.sleep(outputMsMax).then(() => false),
    ]);
    if (!isWhole)
      job.log('platform', 'The end of the output is missing: it came faster than it could be stored.');
    job.signal.throwIfAborted();
    if ('stopped' in ending) return { exitCode: null, how: ending.stopped ?? 'was stopped' };
    if (!ending.ok && (group?.memoryKills() ?? 0) > 0) return { exitCode: null, how: outOfMemory(job) };
    return { exitCode: ending.code, how: ending.how };
  } finally {
    if (leader !== null) await endTree(treeWith(leader));
    guard.dismiss();
    await group?.remove();
    await removeTree(folder);
  }
}

async function waitForEnd(
  deps: ProcessDeps,
  {
    job,
    leader,
    ended,
    measure,
  }: {
    job: RunJob;
    leader: number;
    ended: Promise<ExitResult>;
    measure: (mbMax: number) => Promise<Measured>;
  },
): Promise<Ending> {
  const stopped = Promise.withResolvers<Ending>();
  const onAbort = () => stopped.resolve({ stopped: null });
  job.signal.addEventListener('abort', onAbort, { once: true });
  if (job.signal.aborted) onAbort();
  const timer = setTimeout(() => stopped.resolve({ stopped: timeLimitText(job) }), job.timeoutMs);
  const memory = deps.watch.add({
    leader,
    ...limitsToWatch(deps, job.limits),
    onTooMuch: () => stopped.resolve({ stopped: outOfMemory(job) }),
    onUse: () => {},
  });
  const disk = deps.disk.add({
    measure,
    leader,
    mbMax: job.limits.diskMb,
    onTooMuch: (reason) => stopped.resolve({ stopped: reason }),
  });
  try {
    return await Promise.race([ended, stopped.promise]);
  } finally {
    memory.stop();
    disk.stop();
    clearTimeout(timer);
    job.signal.removeEventListener('abort', onAbort);
  }
}

async function stopGracefully(tree: ProcessTree, ended: Promise<ExitResult>): Promise<void> {
  const deadline = Date.now() + stopGraceMs;
  requestEnd(tree);
  await Promise.race([ended, Bun.sleep(stopGraceMs)]);
  while (Date.now() < deadline && listLiving(tree).length > 0) await Bun.sleep(20);
}

const outOfMemory = ({ limits }: RunJob) => `ran out of memory (${limits.memoryMb} MiB)`;

export function timeLimitText({ timeoutMs }: Pick<RunJob, 'timeoutMs'>): string {
  return `took longer than its time limit of ${Math.round(timeoutMs / 100) / 10} seconds`;
}
