import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseError } from './database-error.ts';
import type { Database } from './database-handle.ts';
import { type ClusterUse, findPlace, type Place } from './embedded-place.ts';
import { embeddedUrls, prepareRoles } from './embedded-roles.ts';
import { removeSocketFolder } from './endpoint.ts';
import { type Lock, livingWriter, takeLock, waitForLock, writeIdentity } from './lock-file.ts';
import { type RunningCluster, runCluster } from './run-cluster.ts';

export interface EmbeddedOptions {
  dataDir: string;
  /** The control plane's, unless said otherwise. */
  use?: ClusterUse;
  log: (line: string) => void;
}

/** PostgreSQL in the data dir for the one server on it, which stops it in the end, found or started. */
export async function openEmbedded({ dataDir, use, log }: EmbeddedOptions): Promise<Database> {
  const place = findPlace(dataDir, use);
  const lock = takeServerLock(place);
  try {
    const running = await changing(place, log, async () => {
      const cluster = await runCluster(place, log);
      await orStop(cluster, () => prepareRoles(cluster.endpoint, cluster.credentials, place.use));
      return cluster;
    });
    return serverDatabase(place, lock, running, log);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/**
 * PostgreSQL in the data dir for one command: that of the server when one runs, else one for as long as commands
 * use it. The last of several commands that overlap stops it, unless a server has come to use it since.
 */
export async function attachEmbedded({ dataDir, use, log }: EmbeddedOptions): Promise<Database> {
  const place = findPlace(dataDir, use);
  return await changing(place, log, async () => {
    const shared = livingWriter(place.serverLock) === null && commandsAtWork(place).length > 0;
    const cluster = await runCluster(place, log);
    const urls = embeddedUrls(cluster.endpoint, cluster.credentials);
    if (cluster.found === 'running' && !shared) {
      return { kind: 'embedded', ...urls, stop: async () => {}, stopNow: () => {}, exited: never };
    }
    if (cluster.found === 'started') {
      await orStop(cluster, () => prepareRoles(cluster.endpoint, cluster.credentials, place.use));
    }
    return commandDatabase(place, cluster, log);
  });
}

const never = new Promise<void>(() => {});
const changeWaitMsMax = 11 * 60_000;
/** This many ends in so short a time have a cause that starting again does not remove. */
const endsInARowMax = 5;
const endsInARowMs = 60_000;

function takeServerLock(place: Place): Lock {
  const lock = takeLock(place.serverLock);
  if ('release' in lock) return lock;
  throw new DatabaseError(
    'data_dir_in_use',
    `Another server (process ${lock.heldBy}) runs on ${place.dataDir}. Stop it, or set SVC_DATA_DIR and SVC_PORT to others.`,
  );
}

/** A PostgreSQL that dies unasked is started again, in the same place: whoever is connected only has to reconnect. */
function serverDatabase(
  place: Place,
  lock: Lock,
  { postmaster: first, endpoint, credentials }: RunningCluster,
  log: (line: string) => void,
): Database {
  let postmaster = first;
  let stopping: Promise<void> | undefined;
  const given = Promise.withResolvers<void>();
  const watch = async () => {
    const ends: number[] = [];
    for (;;) {
      await postmaster.exited;
      if (stopping) return;
      ends.push(performance.now());
      if (performance.now() - (ends.at(-endsInARowMax) ?? Number.NaN) < endsInARowMs) return given.resolve();
      log('PostgreSQL ended without being asked to. Starting it again.');
      try {
        postmaster = await changing(place, log, async () => (await runCluster(place, log)).postmaster);
      } catch (error) {
        log(
          `PostgreSQL could not be started again: ${error instanceof Error ? error.message : String(error)}`,
        );
        return given.resolve();
      }
    }
  };
  void watch();
  const stop = async () => {
    await changing(place, log, async () => {
      await postmaster.stop();
      removeSocketFolder(endpoint);
    });
    lock.release();
  };
  return {
    kind: 'embedded',
    ...embeddedUrls(endpoint, credentials),
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
    stopNow: () => {
      stopping ??= Promise.resolve();
      postmaster.stopNow();
      lock.release();
    },
    exited: given.promise,
  };
}

function commandDatabase(
  place: Place,
  { postmaster, endpoint, credentials }: RunningCluster,
  log: (line: string) => void,
): Database {
  const mark = markCommand(place);
  const leave = () => {
    rmSync(mark, { force: true });
    return livingWriter(place.serverLock) === null && commandsAtWork(place).length === 0 ? 'last' : 'others';
  };
  let stopping: Promise<void> | undefined;
  const stop = () =>
    changing(place, log, async () => {
      if (leave() === 'others') return;
      await postmaster.stop();
      removeSocketFolder(endpoint);
    });
  return {
    kind: 'embedded',
    ...embeddedUrls(endpoint, credentials),
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
    stopNow: () => {
      if (leave() === 'last') postmaster.stopNow();
    },
    exited: postmaster.exited,
  };
}

/** One start or stop at a time, so that nobody adopts a PostgreSQL that another is about to stop. */
async function changing<T>(place: Place, log: (line: string) => void, work: () => Promise<T>): Promise<T> {
  const onWait = (heldBy: number) => log(`Waiting for process ${heldBy}, which starts or stops PostgreSQL.`);
  const lock = await waitForLock(place.changeLock, { waitMsMax: changeWaitMsMax, onWait });
  try {
    return await work();
  } finally {
    lock.release();
  }
}

async function orStop(cluster: RunningCluster, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (cluster.found === 'started') await cluster.postmaster.stop();
    throw error;
  }
}

function markCommand(place: Place): string {
  const folder = commandsFolder(place);
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o700);
  // Those of commands that were killed.
  for (const name of readdirSync(folder)) {
    if (livingWriter(join(folder, name)) === null) rmSync(join(folder, name), { force: true });
  }
  const mark = join(folder, `${process.pid}-${crypto.randomUUID()}`);
  writeIdentity(mark);
  return mark;
}

function commandsAtWork(place: Place): string[] {
  const folder = commandsFolder(place);
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((name) => livingWriter(join(folder, name)) !== null);
}

function commandsFolder(place: Place): string {
  return join(place.dataDir, 'postgres.commands');
}
