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
import { type Account, chooseAccount } from './account.ts';
import { type Binaries, findBinaries } from './binaries.ts';
import { clusterFolder } from './cluster.ts';
import { DatabaseError } from './database-error.ts';
import { type Endpoint, prepareSocketFolder, socketEndpoint, tcpEndpoint } from './endpoint.ts';

/** What an embedded PostgreSQL is for: its settings and its roles follow from that. */
export type ClusterUse = 'control_plane' | 'databases_of_apps';

/** Where everything of one embedded PostgreSQL lies. */
export interface Place {
  use: ClusterUse;
  dataDir: string;
  cluster: string;
  /** Held by the one server on this data dir, for as long as it runs. */
  serverLock: string;
  /** Held by whoever starts or stops PostgreSQL, while at it. */
  changeLock: string;
  logPath: string;
}

const logBytesMax = 10 * 1024 * 1024;

/** The real path, so that a server and a tool that reach the data dir by different links agree. */
export function findPlace(dataDir: string, use: ClusterUse = 'control_plane'): Place {
  const wanted = resolve(dataDir);
  if (!existsSync(wanted)) {
    mkdirSync(wanted, { recursive: true });
    // Nobody else may list it; root's PostgreSQL, which is another user, must pass through it.
    chmodSync(wanted, process.getuid?.() === 0 ? 0o711 : 0o700);
  }
  const real = realpathSync(wanted);
  checkWritable(real);
  return {
    use,
    dataDir: real,
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
      `${dataDir} belongs to user ${owner} and is closed to us: run this as the user that runs the server.`,
      { cause },
    );
  }
}

/** What a start needs to know, with the socket's folder made and given to PostgreSQL. */
export async function prepareStart(
  place: Place,
): Promise<{ binaries: Binaries; account: Account; endpoint: Endpoint }> {
  const binaries = findBinaries();
  const sockets = process.platform === 'linux' || process.platform === 'darwin';
  const endpoint = sockets ? socketEndpoint(place.dataDir) : await tcpEndpoint(place.dataDir);
  const mustEnter = [place.dataDir, realpathSync(binaries.folder)];
  if (endpoint.kind === 'socket') mustEnter.push(realpathSync(dirname(endpoint.folder)));
  const account = chooseAccount({ cluster: place.cluster, mustEnter });
  if (endpoint.kind === 'socket') prepareSocketFolder(endpoint.folder, account);
  return { binaries, account, endpoint };
}

/** PostgreSQL's own log, appended to; at a start the one that has grown large becomes the previous one. */
export function openLog(path: string, account: Account): { file: number; size: number; close(): void } {
  if (existsSync(path) && statSync(path).size > logBytesMax) renameSync(path, `${path}.1`);
  const file = openSync(path, 'a', 0o600);
  if (account.foreign) fchownSync(file, account.uid, account.gid);
  return { file, size: statSync(path).size, close: () => closeSync(file) };
}
