import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { Logger } from 'pino';
import type { Environment } from '../config/values.ts';
import type { Config } from '../config.ts';
import { projectRoot } from '../core/project-root.ts';
import { clusterFolder } from '../drivers/database/cluster.ts';
import {
  findClosedFolder,
  findClusterUser,
  type Ids,
  isBelow,
  showInClosed,
} from '../drivers/database/programs.ts';
import { gitFolderNames } from '../drivers/git/git-launcher.ts';

/** Entries of the supervisor and the agent, which the server must not replace. */
const reservedEntries = [
  'runtime',
  'raw',
  'postgres',
  'postgres.json',
  'postgres.lock',
  'postgres.commands',
  'server.lock',
];

interface ServerUser extends Ids {
  /** Goes before the command that drops the rights of root. */
  enter: readonly string[];
}

/** The user of PostgreSQL, whose socket it opens. Null: the server keeps the user of the supervisor. */
export function chooseServerUser(
  { dataDir, socket, runtime }: Config,
  log: Logger,
  env: Environment,
): ServerUser | null {
  // The socket of Docker gives every right of root.
  if (process.getuid?.() !== 0 || runtime.kind === 'docker') return null;
  const user = findClusterUser(clusterFolder(dataDir));
  const closed = findClosedToServer(dataDir, user);
  const unusable = findUnusable(env, socket, user);
  if (closed === null) {
    if (unusable) throw new Error(unusable);
    return { ...user, enter: [] };
  }
  const enter = unusable ?? showBelowClosed(closed, { dataDir, user, env });
  if (typeof enter !== 'string') return { ...user, enter };
  log.warn(
    { folder: closed, reason: enter, advice: adviceForClosed(closed) },
    'the server runs as root, because its own user cannot enter this folder',
  );
  return null;
}

function findUnusable(env: Environment, socket: Config['socket'], user: Ids): string | null {
  for (const [variable, path] of Object.entries(env))
    if (/^SVC_\w+_FILE$/.test(variable) && path && !isAllowed(path, user, 4))
      return `${variable}: ${path} must be readable by user ${user.uid}, which runs the server.`;
  if (!socket || isAllowed(dirname(socket), user, 2)) return null;
  return `SVC_LISTEN: user ${user.uid}, which runs the server, must be able to create files in ${dirname(socket)}.`;
}

const serverFolders = (dataDir: string) =>
  [dataDir, projectRoot, join(projectRoot, 'node_modules'), dirname(realpathSync(process.execPath))]
    .filter((folder) => existsSync(folder))
    .map((folder) => realpathSync(folder));

export function findClosedToServer(dataDir: string, user: Ids): string | null {
  const mustEnter = [...serverFolders(dataDir), join(realpathSync(projectRoot), 'server', 'src')];
  return mustEnter.map((folder) => findClosedFolder(folder, user)).find(Boolean) ?? null;
}

export const adviceForClosed = (folder: string) =>
  `Allow others to enter it (chmod o+x ${folder}), or move the data dir and the installation, e.g. to /var/lib/svc and /opt/svc.`;

/** An empty folder covers the closed one, except the server's own folders. Returns a text if this is impossible. */
export function showBelowClosed(
  closed: string,
  { dataDir, user, env }: { dataDir: string; user: Ids; env: Environment },
): string[] | string {
  const all = [...new Set(serverFolders(dataDir))];
  if (all.some((path) => path === closed || isBelow(closed, path)))
    return 'The folder is part of the data dir or of the installation.';
  const another = all
    .filter((path) => !isBelow(path, closed))
    .map((path) => findClosedFolder(path, user))
    .find(Boolean);
  if (another) return `It cannot enter ${another} either.`;
  const named = Object.entries(env).find(
    ([name, value]) => pathVariables.test(name) && value?.includes(closed + sep),
  );
  if (named) return `${named[0]} names something in it.`;
  const enter = showInClosed(closed, { folders: all, cwd: realpathSync(projectRoot) });
  const [program = '', ...args] = [...enter, 'true'];
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  return status === 0 ? enter : `No mount namespace can be set up: ${error?.message ?? stderr.trim()}`;
}

const pathVariables = /^(SVC_(?!DATA_DIR$)|NODE_EXTRA_CA_CERTS$|SSL_CERT_)/;

/** The server creates files in the data dir, and cannot replace those of others. */
export function changeDataDirOwner(dataDir: string, { uid, gid }: Ids): void {
  chownSync(dataDir, 0, gid);
  chmodSync(dataDir, 0o1771);
  for (const name of readdirSync(dataDir)) {
    const path = join(dataDir, name);
    const facts = lstatSync(path);
    // Root follows links to the folders of git, so that they stay root's.
    if (facts.isSymbolicLink() && Object.values<string>(gitFolderNames).includes(name)) continue;
    if (!reservedEntries.includes(name) && facts.uid === 0)
      spawnSync('chown', ['-RhP', `${uid}:${gid}`, '--', path]);
  }
}

export function asServerUser(
  { uid, gid, enter }: ServerUser,
  { ports, group }: { ports: readonly number[]; group: number | null },
): string[] {
  const right = ports.some((port) => port < 1024) ? '+net_bind_service' : '-all';
  return [
    ...enter,
    'setpriv',
    `--reuid=${uid}`,
    `--regid=${gid}`,
    group === null ? '--clear-groups' : `--groups=${group}`,
    `--inh-caps=${right}`,
    ...(right === '-all' ? [] : [`--ambient-caps=${right}`]),
    '--no-new-privs',
    '--',
  ];
}

function isAllowed(path: string, { uid, gid }: Ids, right: 4 | 2): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  // A missing file has its own message.
  if (!found) return true;
  const shift = found.uid === uid ? 6 : found.gid === gid ? 3 : 0;
  const isClosed = findClosedFolder(dirname(realpathSync(path)), { uid, gid }) !== null;
  return (found.mode & (right << shift)) !== 0 && !isClosed;
}
