import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import type { Environment } from '../config/values.ts';
import type { Config } from '../config.ts';
import { projectRoot } from '../core/project-root.ts';
import { clusterFolder } from '../drivers/database/cluster.ts';
import { findClosedFolder, findClusterUser, type Ids } from '../drivers/database/programs.ts';

/** Of the supervisor and the agent, which the server must not replace. */
const keptEntries = [
  'runtime',
  'raw',
  'postgres',
  'postgres.json',
  'postgres.lock',
  'postgres.commands',
  'server.lock',
];

/**
 * The user of the server when everything is started by root: that of PostgreSQL, whose socket it opens. Null: the server
 * keeps the user of the supervisor.
 */
export function chooseServerUser(
  { dataDir, socket, runtime }: Config,
  log: Logger,
  env: Environment,
): Ids | null {
  // The socket of Docker gives every right of root.
  if (process.getuid?.() !== 0 || runtime.kind === 'docker') return null;
  const user = findClusterUser(clusterFolder(dataDir));
  const closed = findClosedToServer(dataDir, user);
  if (closed) {
    log.warn(
      { folder: closed, advice: adviceForClosed(closed) },
      'the server runs as root, because its own user cannot enter this folder',
    );
    return null;
  }
  for (const [variable, path] of Object.entries(env))
    if (/^SVC_\w+_FILE$/.test(variable) && path && !isAllowed(path, user, 4))
      throw new Error(`${variable}: ${path} must be readable by user ${user.uid}, which runs the server.`);
  if (socket && !isAllowed(dirname(socket), user, 2))
    throw new Error(
      `SVC_LISTEN: user ${user.uid}, which runs the server, must be able to create files in ${dirname(socket)}.`,
    );
  return user;
}

export function findClosedToServer(dataDir: string, user: Ids): string | null {
  const mustEnter = [dataDir, join(projectRoot, 'server', 'src'), dirname(realpathSync(process.execPath))];
  return mustEnter.map((folder) => findClosedFolder(realpathSync(folder), user)).find(Boolean) ?? null;
}

export const adviceForClosed = (folder: string) =>
  `Allow others to enter it (chmod o+x ${folder}), or move the data dir and the installation, e.g. to /var/lib/svc and /opt/svc.`;

/** The server creates files in the data dir, and cannot replace those of others. */
export function handOverDataDir(dataDir: string, { uid, gid }: Ids): void {
  chownSync(dataDir, 0, gid);
  chmodSync(dataDir, 0o1771);
  for (const name of readdirSync(dataDir)) {
    const path = join(dataDir, name);
    if (!keptEntries.includes(name) && lstatSync(path).uid === 0)
      spawnSync('chown', ['-RhP', `${uid}:${gid}`, '--', path]);
  }
}

export function asServerUser({ uid, gid }: Ids, ports: readonly number[]): string[] {
  const right = ports.some((port) => port < 1024) ? '+net_bind_service' : '-all';
  return [
    'setpriv',
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    `--inh-caps=${right}`,
    ...(right === '-all' ? [] : [`--ambient-caps=${right}`]),
    '--no-new-privs',
    '--',
  ];
}

/** `right`: 4 to read, 2 to write. */
function isAllowed(path: string, { uid, gid }: Ids, right: 4 | 2): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  // A missing file has its own message.
  if (!found) return true;
  const shift = found.uid === uid ? 6 : found.gid === gid ? 3 : 0;
  const isClosed = findClosedFolder(dirname(realpathSync(path)), { uid, gid }) !== null;
  return (found.mode & (right << shift)) !== 0 && !isClosed;
}
