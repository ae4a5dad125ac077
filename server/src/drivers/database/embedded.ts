import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { findLivingWriter, type Lock, tryLock, waitForLock, writeIdentity } from '../os/files.ts';
import { type ClusterUse, type DataDir, openDataDir } from './cluster.ts';
import { type Database, DatabaseError, removeSocketFolder } from './connect.ts';
import { embeddedUrls, prepareRoles } from './roles.ts';
import { ensureClusterRuns, type RunningCluster } from './start-cluster.ts';

interface EmbeddedOptions {
  dataDir: string;
  use?: ClusterUse;
  connectionsMax?: number | undefined;
  log: (line: string) => void;
}

export async function openEmbedded(options: EmbeddedOptions): Promise<Database> {
  const { log, connectionsMax } = options;
  const dataDir = { ...openDataDir(options.dataDir, options.use), connectionsMax };
  const lock = takeServerLock(dataDir);
  try {
    const running = await withChangeLock(dataDir, log, async () => {
      const cluster = await ensureClusterRuns(dataDir, log);
      await stopOnError(cluster, () => prepareRoles(cluster.endpoint, cluster.credentials, dataDir.use));
      return cluster;
    });
    return serverDatabase(dataDir, lock, running, log);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** The last of several overlapping commands stops PostgreSQL, unless a server uses it by then. */
export async function attachEmbedded(options: EmbeddedOptions): Promise<Database> {
  const { log } = options;
  const dataDir = openDataDir(options.dataDir, options.use);
  return await withChangeLock(dataDir, log, async () => {
    const isSharedByCommands =
      findLivingWriter(dataDir.serverLock) === null && listRunningCommands(dataDir).length > 0;
    const cluster = await ensureClusterRuns(dataDir, log);
    const urls = embeddedUrls(cluster.endpoint, cluster.credentials);
    if (cluster.found === 'running' && !isSharedByCommands) {
      return { kind: 'embedded', ...urls, stop: async () => {}, stopNow: () => {}, exited: never };
    }
    if (cluster.found === 'started') {
      await stopOnError(cluster, () => prepareRoles(cluster.endpoint, cluster.credentials, dataDir.use));
    }
    return commandDatabase(dataDir, cluster, log);
  });
}

const never = new Promise<void>(() => {});
const changeWaitMsMax = 11 * 60_000;
const exitsMax = 5;
const exitsMs = 60_000;

function takeServerLock(dataDir: DataDir): Lock {
  const lock = tryLock(dataDir.serverLock);
  if ('release' in lock) return lock;
  throw new DatabaseError(
    'data_dir_in_use',
    `Another server (process ${lock.heldBy}) uses ${dataDir.path}. Stop it, or change SVC_DATA_DIR and SVC_PORT.`,
  );
}

function serverDatabase(
  dataDir: DataDir,
  lock: Lock,
  { postmaster: first, endpoint, credentials }: RunningCluster,
  log: (line: string) => void,
): Database {
  let postmaster = first;
  let stopping: Promise<void> | undefined;
  const givenUp = Promise.withResolvers<void>();
  const watch = async () => {
    const exits: number[] = [];
    for (;;) {
      await postmaster.exited;
      if (stopping) return;
      exits.push(performance.now());
      if (performance.now() - (exits.at(-exitsMax) ?? Number.NaN) < exitsMs) return givenUp.resolve();
      log('PostgreSQL exited unexpectedly. Restarting it.');
      try {
        ({ postmaster } = await withChangeLock(dataDir, log, () => ensureClusterRuns(dataDir, log)));
      } catch (error) {
        log(`PostgreSQL could not be restarted: ${error instanceof Error ? error.message : String(error)}`);
        return givenUp.resolve();
      }
    }
  };
  void watch();
  const stop = async () => {
    await withChangeLock(dataDir, log, async () => {
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
    exited: givenUp.promise,
  };
}

function commandDatabase(
  dataDir: DataDir,
  { postmaster, endpoint, credentials }: RunningCluster,
  log: (line: string) => void,
): Database {
  const commandFile = registerCommand(dataDir);
  const isLastAfterLeaving = () => {
    rmSync(commandFile, { force: true });
    return findLivingWriter(dataDir.serverLock) === null && listRunningCommands(dataDir).length === 0;
  };
  let stopping: Promise<void> | undefined;
  const stop = () =>
    withChangeLock(dataDir, log, async () => {
      if (!isLastAfterLeaving()) return;
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
      if (isLastAfterLeaving()) postmaster.stopNow();
    },
    exited: postmaster.exited,
  };
}

/** Serializes starts and stops, so that no process adopts a PostgreSQL that another one is stopping. */
async function withChangeLock<T>(dataDir: DataDir, log: (line: string) => void, work: () => Promise<T>) {
  const onWait = (heldBy: number) => log(`Waiting for process ${heldBy}, which starts or stops PostgreSQL.`);
  const lock = await waitForLock(dataDir.changeLock, { waitMsMax: changeWaitMsMax, onWait });
  if ('heldBy' in lock)
    throw new DatabaseError('busy', `Process ${lock.heldBy} has held ${dataDir.changeLock} for too long.`);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

async function stopOnError(cluster: RunningCluster, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (cluster.found === 'started') await cluster.postmaster.stop();
    throw error;
  }
}

function registerCommand(dataDir: DataDir): string {
  const folder = commandsFolder(dataDir);
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o700);
  for (const name of readdirSync(folder)) {
    if (findLivingWriter(join(folder, name)) === null) rmSync(join(folder, name), { force: true });
  }
  const commandFile = join(folder, `${process.pid}-${crypto.randomUUID()}`);
  writeIdentity(commandFile);
  return commandFile;
}

function listRunningCommands(dataDir: DataDir): string[] {
  const folder = commandsFolder(dataDir);
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((name) => findLivingWriter(join(folder, name)) !== null);
}

function commandsFolder(dataDir: DataDir): string {
  return join(dataDir.path, 'postgres.commands');
}
