import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { clusterFolder } from './cluster.ts';
import { type Endpoint, prepareSocketFolder, socketEndpoint, tcpEndpoint } from './endpoint.ts';
import { type Account, type Binaries, chooseAccount, findBinaries } from './programs.ts';
import { DatabaseError } from './types.ts';

export type ClusterUse = 'control_plane' | 'app_databases';

export interface DataDir {
  use: ClusterUse;
  /** More than the default, for several server processes. */
  connectionsMax?: number | undefined;
  path: string;
  cluster: string;
  serverLock: string;
  changeLock: string;
  logPath: string;
}

const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants;
const logBytesMax = 10 * 1024 * 1024;

/** Uses the real path, so that a server and a tool that open the data dir by different links agree. */
export function openDataDir(path: string, use: ClusterUse = 'control_plane'): DataDir {
  const absolute = resolve(path);
  if (!existsSync(absolute)) {
    mkdirSync(absolute, { recursive: true });
    // PostgreSQL of a server that runs as root is another user, who must enter the folder but not list it.
    chmodSync(absolute, process.getuid?.() === 0 ? 0o711 : 0o700);
  }
  const real = realpathSync(absolute);
  checkWritable(real);
  return {
    use,
    path: real,
    cluster: clusterFolder(real),
    serverLock: join(real, 'server.lock'),
    changeLock: join(real, 'postgres.lock'),
    logPath: join(real, 'postgres.log'),
  };
}

function checkWritable(dataDir: string): void {
  try {
    accessSync(dataDir, constants.W_OK | constants.X_OK);
  } catch (cause) {
    const owner = statSync(dataDir).uid;
    throw new DatabaseError(
      'foreign_owner',
      `${dataDir} belongs to user ${owner} and is not writable. Run this as the user that runs the server.`,
      { cause },
    );
  }
}

export async function prepareStart(
  dataDir: DataDir,
): Promise<{ binaries: Binaries; account: Account; endpoint: Endpoint }> {
  const binaries = findBinaries();
  const sockets = process.platform === 'linux' || process.platform === 'darwin';
  const endpoint = sockets ? socketEndpoint(dataDir.path) : await tcpEndpoint(dataDir.path);
  const mustEnter = [dataDir.path, realpathSync(binaries.folder)];
  if (endpoint.kind === 'socket') mustEnter.push(realpathSync(dirname(endpoint.folder)));
  const account = chooseAccount({ cluster: dataDir.cluster, mustEnter });
  if (endpoint.kind === 'socket') prepareSocketFolder(endpoint.folder, account);
  return { binaries, account, endpoint };
}

export function openLog(path: string, account: Account): { file: number; size: number; close(): void } {
  if (existsSync(path) && statSync(path).size > logBytesMax) renameSync(path, `${path}.1`);
  // The server can write to the data dir: root must not follow a link that it left here.
  const file = openSync(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
  if (account.isOtherUser) fchownSync(file, account.uid, account.gid);
  return { file, size: statSync(path).size, close: () => closeSync(file) };
}
