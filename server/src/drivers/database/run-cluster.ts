import { closeSync, lchownSync, lstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Account } from './account.ts';
import { findBinaries } from './binaries.ts';
import { clusterExists, makeCluster, superuser, writeSettings } from './cluster.ts';
import { sqlState, withClient } from './connect.ts';
import { type Credentials, keepCredentials, readCredentials } from './credentials.ts';
import { DatabaseError } from './database-error.ts';
import { openLog, type Place, prepareStart } from './embedded-place.ts';
import { answers, connectionUrl, type Endpoint, socketPath } from './endpoint.ts';
import { adoptPostmaster, type Postmaster, startPostmaster } from './postmaster.ts';
import {
  disownPostmasterFile,
  livingPostmaster,
  orphanedBackends,
  readPostmasterFile,
  removeSocketFiles,
} from './postmaster-file.ts';
import { identify } from './process-identity.ts';
import { endpointArguments } from './settings.ts';

export interface RunningCluster {
  postmaster: Postmaster;
  endpoint: Endpoint;
  credentials: Credentials;
  found: 'running' | 'started';
}

// Long, since repair after a crash reads the whole log since the last checkpoint.
const readyMsMax = 10 * 60_000;

/** The cluster's PostgreSQL, running and answering: the one found, or else one started now. */
export async function runCluster(place: Place, log: (line: string) => void): Promise<RunningCluster> {
  return (await adoptRunning(place, log)) ?? (await startCluster(place, log));
}

/** A postmaster may also be found on its way up or down: then it is waited for. */
async function adoptRunning(place: Place, log: (line: string) => void): Promise<RunningCluster | null> {
  const deadline = Date.now() + readyMsMax;
  for (;;) {
    const pid = livingPostmaster(place.cluster);
    const identity = pid === null ? null : identify(pid);
    if (!identity) return null;
    const file = readPostmasterFile(place.cluster);
    const credentials = readCredentials(place.dataDir);
    if (file && (await acceptsLogin(file.endpoint, credentials, place))) {
      log(`Using the PostgreSQL that runs already in ${place.cluster} (process ${identity.pid}).`);
      const postmaster = adoptPostmaster(identity, findBinaries());
      return { postmaster, endpoint: file.endpoint, credentials, found: 'running' };
    }
    if (Date.now() > deadline) {
      throw new DatabaseError(
        'start_failed',
        `PostgreSQL (process ${identity.pid}) runs but does not answer.`,
      );
    }
    await Bun.sleep(50);
  }
}

async function startCluster(place: Place, log: (line: string) => void): Promise<RunningCluster> {
  const { binaries, account, endpoint } = await prepareStart(place);
  let credentials: Credentials;
  if (clusterExists(place.dataDir, binaries.major)) {
    credentials = readCredentials(place.dataDir);
    if (account.foreign) giveTo(account, place.cluster);
  } else {
    log(`Setting up PostgreSQL ${binaries.major} in ${place.cluster}.`);
    credentials = keepCredentials(place.dataDir);
    await makeCluster({
      dataDir: place.dataDir,
      binaries,
      account,
      superuserPassword: credentials.superuser,
    });
  }
  await clearRemains(place, endpoint, account);
  writeSettings(place, account);
  const output = openLog(place.logPath, account);
  try {
    const args = ['-D', place.cluster, ...endpointArguments(endpoint)];
    const postmaster = await startPostmaster({ binaries, account, args, logFile: output.file });
    try {
      await untilReady({ place, postmaster, endpoint, credentials, logFrom: output.size, log });
    } catch (error) {
      await postmaster.stop();
      throw error;
    }
    return { postmaster, endpoint, credentials, found: 'started' };
  } finally {
    output.close();
  }
}

async function untilReady(start: {
  place: Place;
  postmaster: Postmaster;
  endpoint: Endpoint;
  credentials: Credentials;
  logFrom: number;
  log: (line: string) => void;
}): Promise<void> {
  const { place, postmaster } = start;
  const began = Date.now();
  let tellAt = began + 5_000;
  while (postmaster.runs()) {
    const file = readPostmasterFile(place.cluster);
    if (file?.pid === postmaster.pid && file.ready) {
      if (await acceptsLogin(start.endpoint, start.credentials, place)) return;
    }
    if (Date.now() - began > readyMsMax) break;
    if (Date.now() > tellAt) {
      start.log(`PostgreSQL is still starting, after a crash it repairs itself first; see ${place.logPath}.`);
      tellAt += 30_000;
    }
    await Bun.sleep(10);
  }
  const said = tail(place.logPath, start.logFrom);
  throw new DatabaseError('start_failed', `PostgreSQL did not start. It says:\n${said}`);
}

async function acceptsLogin(endpoint: Endpoint, credentials: Credentials, place: Place): Promise<boolean> {
  const login = { user: superuser, password: credentials.superuser, database: 'postgres' };
  try {
    await withClient(connectionUrl(endpoint, login), (client) => client.query('select 1'));
    return true;
  } catch (cause) {
    if (sqlState(cause) !== '28P01') return false;
    throw new DatabaseError(
      'credentials_lost',
      `The passwords in ${join(place.dataDir, 'postgres.json')} are not those of the database beside it.`,
      { cause },
    );
  }
}

/** Puts away what a killed PostgreSQL left behind, once it is certain that none runs. */
async function clearRemains(place: Place, endpoint: Endpoint, account: Account): Promise<void> {
  if (endpoint.kind === 'socket' && (await answers(endpoint))) {
    throw new DatabaseError(
      'running_elsewhere',
      `A PostgreSQL that is no process of this machine or container uses ${place.dataDir}: stop it first.`,
    );
  }
  const deadline = Date.now() + 5_000;
  for (let left = orphanedBackends(place.cluster); left.length > 0; left = orphanedBackends(place.cluster)) {
    const signal = Date.now() > deadline ? 'SIGKILL' : 'SIGQUIT';
    for (const pid of left) if (identify(pid)) process.kill(pid, signal);
    await Bun.sleep(20);
  }
  disownPostmasterFile(place.cluster, account.foreign ? account : undefined);
  if (endpoint.kind === 'socket') removeSocketFiles(socketPath(endpoint));
}

/** A cluster copied by root belongs to root, and PostgreSQL runs only on its own. */
function giveTo(account: Account, path: string): void {
  const found = lstatSync(path);
  if (found.uid === account.uid) return;
  if (found.isDirectory()) for (const name of readdirSync(path)) giveTo(account, join(path, name));
  lchownSync(path, account.uid, account.gid);
}

function tail(path: string, from: number): string {
  const bytes = Buffer.alloc(Math.min(statSync(path).size - from, 8_000));
  const file = openSync(path, 'r');
  try {
    readSync(file, bytes, 0, bytes.length, statSync(path).size - bytes.length);
  } finally {
    closeSync(file);
  }
  return bytes.toString('utf8').trim();
}
