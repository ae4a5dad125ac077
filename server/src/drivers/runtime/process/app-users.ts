import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export interface AppUser {
  uid: number;
  gid: number;
}

/** Whom apps run as: as root each app has a user of its own, otherwise all are the server's own user. */
export interface AppUsers {
  kind: 'own_each' | 'as_server';
  /** The user of an app; null: the server's own. */
  of(number: number): AppUser | null;
  /** How a program is started as that user, and ends with the server; what comes behind is the program. */
  prefix(user: AppUser | null): string[];
  /** Why apps can not be run; null: they can. */
  obstacle(): string | null;
}

const uidBase = 700_000;
const numbersMax = 1_000_000;
const setprivPlaces = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/sbin/setpriv', '/sbin/setpriv'];

export function chooseAppUsers(options: {
  folder: string;
  isRoot: boolean;
  setprivPlaces?: readonly string[];
}): AppUsers {
  const isLinux = process.platform === 'linux';
  const setpriv = (options.setprivPlaces ?? setprivPlaces).find(isProgram) ?? null;
  if (!options.isRoot || !isLinux) {
    // Without setpriv, or elsewhere than on Linux, what a killed server leaves is ended at the next start.
    const prefix = isLinux && setpriv ? [setpriv, '--no-new-privs', '--pdeathsig', 'KILL', '--'] : [];
    return { kind: 'as_server', of: () => null, prefix: () => prefix, obstacle: () => null };
  }
  return {
    kind: 'own_each',
    of(number) {
      if (!Number.isInteger(number) || number < 1 || number > numbersMax)
        throw new RangeError(`No user has the number ${number}.`);
      return { uid: uidBase + number, gid: uidBase + number };
    },
    prefix(user) {
      if (!user || !setpriv) throw new Error('Nothing of an app is run as root.');
      const ids = ['--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups'];
      return [setpriv, ...ids, '--no-new-privs', '--pdeathsig', 'KILL', '--'];
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
