import { closeSync, lchownSync, lstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sqlState } from '../../core/db.ts';
import { findProcess } from '../os/processes.ts';
import {
  clusterExists,
  createCluster,
  type DataDir,
  endpointArguments,
  openLog,
  prepareStart,
  superuser,
  writeSettings,
} from './cluster.ts';
import {
  acceptsConnections,
  connectionUrl,
  DatabaseError,
  type Endpoint,
  socketPath,
  withClient,
} from './connect.ts';
import {
  adoptPostmaster,
  findOrphanedBackends,
  findRunningPostmaster,
  type Postmaster,
  readPostmasterFile,
  removeSocketFiles,
  replaceStalePid,
  startPostmaster,
} from './postmaster.ts';
import { type Account, findBinaries } from './programs.ts';
import { type Credentials, readCredentials, readOrCreateCredentials } from './roles.ts';

export interface RunningCluster {
  postmaster: Postmaster;
  endpoint: Endpoint;
  credentials: Credentials;
  found: 'running' | 'started';
}

// Long, since crash recovery replays the whole WAL since the last checkpoint.
const readyMsMax = 10 * 60_000;

export async function ensureClusterRuns(
  dataDir: DataDir,
  log: (line: string) => void,
): Promise<RunningCluster> {
  return (await adoptRunning(dataDir, log)) ?? (await startCluster(dataDir, log));
}

async function adoptRunning(dataDir: DataDir, log: (line: string) => void): Promise<RunningCluster | null> {
  const deadline = Date.now() + readyMsMax;
  for (;;) {
    const pid = findRunningPostmaster(dataDir.cluster);
    const identity = pid === null ? null : findProcess(pid);
    if (!identity) return null;
    const file = readPostmasterFile(dataDir.cluster);
    const credentials = readCredentials(dataDir.path);
    if (file && (await acceptsLogin(file.endpoint, credentials, dataDir))) {
      log(`Using the running PostgreSQL in ${dataDir.cluster} (process ${identity.pid}).`);
      const postmaster = adoptPostmaster(identity, findBinaries());
      return { postmaster, endpoint: file.endpoint, credentials, found: 'running' };
    }
    const text = `PostgreSQL (process ${identity.pid}) is running but does not accept connections.`;
    if (Date.now() > deadline) throw new DatabaseError('start_failed', text);
    await Bun.sleep(50);
  }
}

async function startCluster(dataDir: DataDir, log: (line: string) => void): Promise<RunningCluster> {
  const { binaries, account, endpoint } = await prepareStart(dataDir);
  let credentials: Credentials;
  if (clusterExists(dataDir.path, binaries.major)) {
    credentials = readCredentials(dataDir.path);
    if (account.isOtherUser) chownRecursively(account, dataDir.cluster);
  } else {
    log(`Setting up PostgreSQL ${binaries.major} in ${dataDir.cluster}.`);
    credentials = readOrCreateCredentials(dataDir.path);
    const superuserPassword = credentials.superuser;
    await createCluster({ dataDir: dataDir.path, binaries, account, superuserPassword });
  }
  await removeCrashRemains(dataDir, endpoint, account);
  writeSettings(dataDir, account);
  const output = openLog(dataDir.logPath, account);
  try {
    const args = ['-D', dataDir.cluster, ...endpointArguments(endpoint)];
    const postmaster = await startPostmaster({ binaries, account, args, logFile: output.file });
    try {
      await waitUntilReady({ dataDir, postmaster, endpoint, credentials, logFrom: output.size, log });
    } catch (error) {
      await postmaster.stop();
      throw error;
    }
    return { postmaster, endpoint, credentials, found: 'started' };
  } finally {
    output.close();
  }
}

async function waitUntilReady(start: {
  dataDir: DataDir;
  postmaster: Postmaster;
  endpoint: Endpoint;
  credentials: Credentials;
  logFrom: number;
  log: (line: string) => void;
}): Promise<void> {
  const { dataDir, postmaster } = start;
  const began = Date.now();
  let logAt = began + 5_000;
  while (postmaster.runs()) {
    const file = readPostmasterFile(dataDir.cluster);
    if (file?.pid === postmaster.pid && file.ready) {
      if (await acceptsLogin(start.endpoint, start.credentials, dataDir)) return;
    }
    if (Date.now() - began > readyMsMax) break;
    if (Date.now() > logAt) {
      start.log(`PostgreSQL is still starting; recovery after a crash takes time. See ${dataDir.logPath}.`);
      logAt += 30_000;
    }
    await Bun.sleep(10);
  }
  const lines = readLogTail(dataDir.logPath, start.logFrom);
  throw new DatabaseError('start_failed', `PostgreSQL did not start. Its log:\n${lines}`);
}

async function acceptsLogin(endpoint: Endpoint, credentials: Credentials, dataDir: DataDir) {
  const login = { user: superuser, password: credentials.superuser, database: 'postgres' };
  try {
    await withClient(connectionUrl(endpoint, login), (client) => client.query('select 1'));
    return true;
  } catch (cause) {
    if (sqlState(cause) !== '28P01') return false;
    throw new DatabaseError(
      'credentials_lost',
      `The passwords in ${join(dataDir.path, 'postgres.json')} do not match the database in the same folder.`,
      { cause },
    );
  }
}

async function removeCrashRemains(dataDir: DataDir, endpoint: Endpoint, account: Account): Promise<void> {
  const text = `A PostgreSQL outside this machine or container uses ${dataDir.path}. Stop it first.`;
  if (endpoint.kind === 'socket' && (await acceptsConnections(endpoint)))
    throw new DatabaseError('running_elsewhere', text);
  const deadline = Date.now() + 5_000;
  for (;;) {
    const left = findOrphanedBackends(dataDir.cluster);
    if (left.length === 0) break;
    const signal = Date.now() > deadline ? 'SIGKILL' : 'SIGQUIT';
    for (const pid of left) if (findProcess(pid)) process.kill(pid, signal);
    await Bun.sleep(20);
  }
  replaceStalePid(dataDir.cluster, account.isOtherUser ? account : undefined);
  if (endpoint.kind === 'socket') removeSocketFiles(socketPath(endpoint));
}

/** A cluster copied by root belongs to root, and PostgreSQL requires that its user owns the cluster. */
function chownRecursively(account: Account, path: string): void {
  const found = lstatSync(path);
  if (found.uid === account.uid) return;
  if (found.isDirectory()) for (const name of readdirSync(path)) chownRecursively(account, join(path, name));
  lchownSync(path, account.uid, account.gid);
}

function readLogTail(path: string, from: number): string {
  const bytes = Buffer.alloc(Math.min(statSync(path).size - from, 8_000));
  const file = openSync(path, 'r');
  try {
    readSync(file, bytes, 0, bytes.length, statSync(path).size - bytes.length);
  } finally {
    closeSync(file);
  }
  return bytes.toString('utf8').trim();
}
