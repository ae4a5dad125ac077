import { join } from 'node:path';
import { BuildFailure, type BuildJob, type Limits } from '../runtime.ts';
import type { AppUser } from './app-users.ts';
import { openHome } from './artifacts.ts';
import type { ControlGroup } from './control-groups.ts';
import { endTree, type Tree } from './end-tree.ts';
import { environmentOfBuild, type Folders } from './environment.ts';
import { setGuard } from './guard.ts';
import { launch } from './launch.ts';
import { checkedId } from './layout.ts';
import { groupFor, type Parts, processesOf, watchedBytes } from './parts.ts';
import { keepProcess, makeRunFolder, neighboursOf } from './process-file.ts';
import { makeOwnFolder, removeTree } from './trees.ts';

/** Builds need more than what they build. */
const buildMemoryMbMin = 2048;
const buildCpuMin = 1;
/** For what has been said to arrive, once everything has been ended. */
const silenceMsMax = 2_000;

export interface BuildPlace {
  /** Holds the process file, which is not the app's. */
  folder: string;
  folders: Folders;
  limits: Limits;
  user: AppUser | null;
  group: ControlGroup | null;
  tree(leader: number | null): Tree;
  /** Whom to end where the server is killed; see `Guard`. */
  lead(leader: number | null): void;
  close(): Promise<void>;
}

export async function openBuildPlace(parts: Parts, job: BuildJob): Promise<BuildPlace> {
  const { layout, users, node } = parts;
  const mark = checkedId(job.buildId);
  const folder = join(layout.run, mark);
  const user = users.ofBuilds(job.number);
  const limits = {
    memoryMb: Math.max(buildMemoryMbMin, job.limits.memoryMb),
    cpu: Math.max(buildCpuMin, job.limits.cpu),
  };
  makeRunFolder(folder, { node, user });
  const folders = { home: await openHome(layout, job.appId, user), tmp: join(folder, 'tmp') };
  await makeOwnFolder(folders.tmp, user);
  const group = groupFor(parts, mark, limits);
  const guard = await setGuard(users, { mark, user });
  const neighbours = () => neighboursOf(layout.run, { mark, user });
  return {
    ...{ folder, folders, limits, user, group },
    tree: (leader) => ({ mark, users, user, group, leader, neighbours }),
    lead: guard.lead,
    async close() {
      guard.dismiss();
      await group?.remove();
      await removeTree(folder);
    },
  };
}

/** One command to its end, and the end of everything that it started. */
export async function runCommand(
  parts: Parts,
  step: { job: BuildJob; place: BuildPlace; command: string; folder: string; deadline: number },
): Promise<void> {
  const { job, place, command } = step;
  const { user } = place;
  job.signal.throwIfAborted();
  // Empty between two commands, it may have been taken for one that was forgotten.
  groupFor(parts, job.buildId, place.limits);
  const killsBefore = place.group?.memoryKills() ?? 0;
  const launched = await launch(parts.users, {
    command,
    dir: step.folder,
    mark: job.buildId,
    user,
    group: place.group,
    env: environmentOfBuild(parts.surroundings, { job: job.env, folders: place.folders }),
    processesMax: processesOf(place.limits),
    log: job.log,
  });
  const { identity, ended, silent } = launched;
  place.lead(identity.pid);
  keepProcess(place.folder, { identity, node: parts.node, user });

  const stopped = Promise.withResolvers<'aborted' | 'late' | 'memory'>();
  const onAbort = () => stopped.resolve('aborted');
  job.signal.addEventListener('abort', onAbort, { once: true });
  if (job.signal.aborted) onAbort();
  const timer = setTimeout(() => stopped.resolve('late'), Math.max(0, step.deadline - Date.now()));
  const watching = parts.watch.add({
    leader: identity.pid,
    bytesMax: watchedBytes(parts, place.limits),
    onTooMuch: () => stopped.resolve('memory'),
    onUse: () => {},
  });
  try {
    const outcome = await Promise.race([ended, stopped.promise]);
    await endTree(place.tree(identity.pid));
    place.lead(null);
    await Promise.race([silent, Bun.sleep(silenceMsMax)]);
    const wasKilled = (place.group?.memoryKills() ?? 0) > killsBefore;
    job.signal.throwIfAborted();
    if (outcome === 'late')
      throw new BuildFailure('build', `The build took longer than ${minutes(parts.times.buildMsMax)}.`);
    if (outcome === 'memory' || (wasKilled && typeof outcome === 'object' && !outcome.ok))
      throw new BuildFailure('build', `“${command}” ran out of memory (${place.limits.memoryMb} MiB).`);
    if (typeof outcome === 'object' && !outcome.ok)
      throw new BuildFailure('build', `“${command}” ${outcome.how}.`);
  } finally {
    watching.stop();
    clearTimeout(timer);
    job.signal.removeEventListener('abort', onAbort);
  }
}

function minutes(ms: number): string {
  return ms < 60_000 ? `${ms / 1000} seconds` : `${ms / 60_000} minutes`;
}
