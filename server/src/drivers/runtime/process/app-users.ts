import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export interface AppUser {
  uid: number;
  gid: number;
}

/** Whom apps run as: as root each has users of its own, otherwise all are the server's own user. */
export interface AppUsers {
  kind: 'own_each' | 'as_server';
  /** Of an app's builds: always the same, since they keep files for one another. Null: the server's own. */
  ofBuilds(number: number): AppUser | null;
  /** Of one instance and of nothing else: whatever has it ends with the instance. Its group reads what the app has built. */
  ofInstance(number: number): AppUser | null;
  /** How a program is started as that user; what comes behind is the program. */
  prefix(user: AppUser | null): string[];
  /** Why apps can not be run; null: they can. */
  obstacle(): string | null;
}

/**
 * Above what systems, containers and directory services give to users. Where in it the numbers of a data dir begin is
 * its own (`takeUserBase`): two installations on one machine have no user in common.
 */
export const userBaseMin = 2_010_000_000;
export const userBaseMax = 2_060_000_000;
const instancesMin = 2_070_000_000;
const instancesMax = 2_140_000_000;
const numbersMax = 1_000_000;
const setprivPlaces = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/sbin/setpriv', '/sbin/setpriv'];

export function chooseAppUsers(options: {
  folder: string;
  isRoot: boolean;
  base?: number;
  setprivPlaces?: readonly string[];
}): AppUsers {
  const base = options.base ?? userBaseMin;
  const isLinux = process.platform === 'linux';
  const setpriv = (options.setprivPlaces ?? setprivPlaces).find(isProgram) ?? null;
  if (!options.isRoot || !isLinux) {
    const prefix = isLinux && setpriv ? [setpriv, '--no-new-privs', '--'] : [];
    const own = { ofBuilds: () => null, ofInstance: () => null };
    return { kind: 'as_server', ...own, prefix: () => prefix, obstacle: () => null };
  }
  return {
    kind: 'own_each',
    ofBuilds(number) {
      const id = base + checkedNumber(number);
      return { uid: id, gid: id };
    },
    ofInstance(number) {
      const uid = instancesMin + Math.floor(Math.random() * (instancesMax - instancesMin));
      return { uid, gid: base + numbersMax + checkedNumber(number) };
    },
    prefix(user) {
      if (!user || !setpriv) throw new Error('Nothing of an app is run as root.');
      const ids = ['--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups'];
      return [setpriv, ...ids, '--no-new-privs', '--'];
    },
    obstacle() {
      if (!setpriv)
        return 'setpriv is missing, by which root runs apps as users of their own: install util-linux, or start the server as an ordinary user.';
      const closed = barrier(options.folder);
      return closed === null
        ? null
        : `Apps run as users of their own, which may not enter ${closed}: allow it (chmod o+x ${closed}), or move the data dir (SVC_DATA_DIR).`;
    },
  };
}

function checkedNumber(number: number): number {
  if (!Number.isInteger(number) || number < 1 || number > numbersMax)
    throw new RangeError(`No user has the number ${number}.`);
  return number;
}

/** The first folder, from the root down, that others may not enter. */
function barrier(folder: string): string | null {
  const parent = dirname(folder);
  const above = parent === folder ? null : barrier(parent);
  if (above) return above;
  const found = statSync(folder, { throwIfNoEntry: false });
  return !found || found.mode & 0o001 ? null : folder;
}

function isProgram(path: string): boolean {
  if (!existsSync(path)) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
