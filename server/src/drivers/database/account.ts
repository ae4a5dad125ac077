import { type SpawnOptions, spawnSync } from 'node:child_process';
import { existsSync, lstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseError } from './database-error.ts';

export const accountName = 'svc-postgres';

/** The system user PostgreSQL runs as, and how a program is started as that user. */
export interface Account {
  uid: number;
  gid: number;
  /** Differs from the user we run as, so what PostgreSQL must read has to be given to it. */
  foreign: boolean;
  command(program: string, args: string[]): { program: string; args: string[]; options: SpawnOptions };
}

/**
 * PostgreSQL refuses to run as root, so root gets a system user made for it; anybody else runs it as themselves.
 * A cluster that another user already owns is run as its owner, so that a start as root, say, of a cluster made
 * without it leaves it usable for its owner.
 */
export function chooseAccount(options: { cluster: string; mustEnter: string[]; setpriv?: string }): Account {
  const uid = process.getuid?.() ?? -1;
  const owner = existsSync(options.cluster) ? lstatSync(options.cluster) : null;
  if (uid !== 0) {
    if (owner && uid !== -1 && owner.uid !== uid) {
      throw new DatabaseError(
        'foreign_owner',
        `${options.cluster} belongs to user ${owner.uid}, not to ${uid}: start the server as the user that made it.`,
      );
    }
    return { uid, gid: process.getgid?.() ?? -1, foreign: false, command: asOurselves };
  }
  const ids = owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : systemUser();
  const blocked = options.mustEnter.map((folder) => barrier(folder, ids)).find((folder) => folder !== null);
  return {
    ...ids,
    foreign: true,
    command: blocked
      ? throughFolder(ids, blocked, options.setpriv ?? 'setpriv')
      : (program, args) => asUser(ids, program, args),
  };
}

interface Ids {
  uid: number;
  gid: number;
}

// PostgreSQL needs nothing of our environment, and has no business with the secrets in it.
const environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

function asOurselves(program: string, args: string[]) {
  // Windows programs don't start without a few variables of the system's.
  const options = process.platform === 'win32' ? {} : { env: environment };
  return { program, args, options };
}

function asUser(ids: Ids, program: string, args: string[]) {
  return { program, args, options: { ...ids, env: environment } };
}

/**
 * The way for a cluster below a folder that is closed to the user, such as /root: it keeps the one capability of
 * root that passes closed folders. PostgreSQL's own superuser can then read any file, so it is used only there.
 */
function throughFolder(ids: Ids, folder: string, setpriv: string): Account['command'] {
  if (spawnSync(setpriv, ['--version'], { env: environment }).status !== 0) {
    throw new DatabaseError(
      'no_setpriv',
      `The user ${accountName}, as which root runs PostgreSQL, may not enter ${folder}. ` +
        `Either allow it (chmod o+x ${folder}), or move the data dir (SVC_DATA_DIR) or the installation elsewhere, ` +
        'or install setpriv (package util-linux), or start the server as an ordinary user.',
    );
  }
  const drop = [`--reuid=${ids.uid}`, `--regid=${ids.gid}`, '--clear-groups'];
  const keep = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  return (program, args) => ({
    program: setpriv,
    args: [...drop, ...keep, '--', program, ...args],
    options: { env: environment },
  });
}

/** The first folder, from the root down to the given one, that the user may not enter. */
function barrier(folder: string, ids: Ids): string | null {
  const parent = dirname(folder);
  const above = parent === folder ? null : barrier(parent, ids);
  if (above) return above;
  const { mode, uid, gid } = statSync(folder);
  const enter = uid === ids.uid ? 0o100 : gid === ids.gid ? 0o010 : 0o001;
  return mode & enter ? null : folder;
}

function systemUser(): Ids {
  const found = lookUp() ?? create();
  if (found) return found;
  throw new DatabaseError(
    'no_account',
    `PostgreSQL does not run as root, and the system user ${accountName} could not be made for it. ` +
      `Make it yourself (useradd --system ${accountName}), or start the server as an ordinary user, ` +
      'or name a PostgreSQL of your own with SVC_DATABASE_URL.',
  );
}

function lookUp(): Ids | null {
  const uid = numberFrom('id', ['-u', accountName]);
  const gid = numberFrom('id', ['-g', accountName]);
  return uid === null || gid === null ? null : { uid, gid };
}

function create(): Ids | null {
  const home = ['--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin'];
  for (let attempt = 0; attempt < 5; attempt++) {
    const made = spawnSync('useradd', ['--system', '--user-group', ...home, accountName], {
      env: environment,
    });
    if (made.error) {
      spawnSync('addgroup', ['-S', accountName], { env: environment });
      spawnSync('adduser', ['-S', '-D', '-H', '-G', accountName, accountName], { env: environment });
    }
    const found = lookUp();
    if (found) return found;
    // Another server on this machine may be making the user just now; useradd then finds /etc/passwd locked.
    Bun.sleepSync(200);
  }
  return null;
}

function numberFrom(program: string, args: string[]): number | null {
  const { status, stdout } = spawnSync(program, args, { env: environment, encoding: 'utf8' });
  return status === 0 && /^\d+$/.test(stdout.trim()) ? Number(stdout) : null;
}
