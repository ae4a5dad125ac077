import { constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { createIfMissing, isAccessible, readIfExists } from '../../os/files.ts';
import type { RuntimeRequirements } from '../runtime.ts';

export interface AppUser {
  uid: number;
  gid: number;
}

export interface AppUsers {
  kind: 'own_each' | 'as_server';
  ofBuilds(number: number): AppUser | null;
  /** A user for one instance only, so that all its processes can be found. Its group can read the app's artifacts. */
  ofInstance(number: number): AppUser | null;
  prefix(user: AppUser | null): string[];
  findProblem(): string | null;
}

/**
 * Above the user IDs of systems, containers and directory services. Each data dir has its own start in this
 * range.
 */
const userBaseMin = 2_010_000_000;
const userBaseMax = 2_060_000_000;
const instanceUidMin = 2_070_000_000;
const instanceUidMax = 2_140_000_000;
const appNumberMax = 1_000_000;
const setprivPaths = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/sbin/setpriv', '/sbin/setpriv'];

export function chooseAppUsers(options: {
  folder: string;
  isRoot: boolean;
  base?: number;
  setprivPaths?: readonly string[];
}): AppUsers {
  const base = options.base ?? userBaseMin;
  const isLinux = process.platform === 'linux';
  const setpriv =
    (options.setprivPaths ?? setprivPaths).find((path) => isAccessible(path, constants.X_OK)) ?? null;
  if (!options.isRoot || !isLinux) {
    const prefix = isLinux && setpriv ? [setpriv, '--no-new-privs', '--'] : [];
    const own = { ofBuilds: () => null, ofInstance: () => null };
    return { kind: 'as_server', ...own, prefix: () => prefix, findProblem: () => null };
  }
  return {
    kind: 'own_each',
    ofBuilds(number) {
      const id = base + checkAppNumber(number);
      return { uid: id, gid: id };
    },
    ofInstance(number) {
      const uid = instanceUidMin + Math.floor(Math.random() * (instanceUidMax - instanceUidMin));
      return { uid, gid: base + appNumberMax + checkAppNumber(number) };
    },
    prefix(user) {
      if (!user || !setpriv) throw new Error('Apps never run as root.');
      const ids = ['--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups'];
      return [setpriv, ...ids, '--no-new-privs', '--'];
    },
    findProblem() {
      if (!setpriv)
        return 'setpriv is missing, which root needs to run apps as other users. Install util-linux, or start the server as an ordinary user.';
      const closed = findClosedFolder(options.folder);
      return closed === null
        ? null
        : `Apps run as other users, which cannot enter ${closed}. Allow it (chmod o+x ${closed}), or move the data dir (SVC_DATA_DIR).`;
    },
  };
}

function checkAppNumber(number: number): number {
  if (!Number.isInteger(number) || number < 1 || number > appNumberMax)
    throw new RangeError(`Invalid app number ${number}.`);
  return number;
}

function findClosedFolder(folder: string): string | null {
  const parent = dirname(folder);
  const above = parent === folder ? null : findClosedFolder(parent);
  if (above) return above;
  const found = statSync(folder, { throwIfNoEntry: false });
  return !found || found.mode & 0o001 ? null : folder;
}

export function readOrChooseUserBase(path: string): number {
  const stored = readBase(path);
  if (stored !== null) return stored;
  const chosen = userBaseMin + Math.floor(Math.random() * (userBaseMax - userBaseMin));
  createIfMissing(path, `${chosen}\n`);
  const base = readBase(path);
  if (base === null) throw new Error(`${path} does not contain the first user ID of apps.`);
  return base;
}

function readBase(path: string): number | null {
  const text = readIfExists(path);
  if (text === null) return null;
  const base = Number(text.trim());
  if (!Number.isInteger(base) || base < userBaseMin || base > userBaseMax)
    throw new Error(`${path} does not contain the first user ID of apps.`);
  return base;
}

export function findUnsupported({ method, plan }: RuntimeRequirements): string | null {
  if (method === 'compose')
    return 'This runtime runs processes, not containers, and cannot run a compose app. Set SVC_RUNTIME=docker.';
  if (method === 'docker' && !plan.startCommand?.trim())
    return plan.dockerfile
      ? 'This runtime cannot build images from a Dockerfile. Add a start command to svc.yaml, or set SVC_RUNTIME=docker.'
      : 'No start command was found. Add one to svc.yaml.';
  return null;
}
