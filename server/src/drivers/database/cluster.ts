import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { syncToDisk, writeDurably } from '../os/files.ts';
import { runProgram } from '../os/processes.ts';
import { DatabaseError, type Endpoint, prepareSocketFolder, socketEndpoint, tcpEndpoint } from './connect.ts';
import { type Account, type Binaries, chooseAccount, findBinaries } from './programs.ts';

export const superuser = 'postgres';
const stagingPrefix = 'postgres.new-';

export function clusterFolder(dataDir: string): string {
  return join(dataDir, 'postgres');
}

export function clusterExists(dataDir: string, major: string): boolean {
  const cluster = clusterFolder(dataDir);
  const versionFile = join(cluster, 'PG_VERSION');
  const found = existsSync(versionFile) ? readFileSync(versionFile, 'utf8').trim() : null;
  if (found === major) return true;
  if (found !== null) {
    throw new DatabaseError(
      'wrong_major_version',
      `${cluster} was created by PostgreSQL ${found}, but this release contains PostgreSQL ${major}. ` +
        `Take a backup with the release that created it, and restore the backup into a new data dir.`,
    );
  }
  if (listEntries(cluster).length > 0) {
    throw new DatabaseError('not_a_cluster', `${cluster} is not a PostgreSQL cluster. Move it away.`);
  }
  return false;
}

/** Creates the cluster in a staging folder and renames it: a crash in between leaves no incomplete cluster. */
export async function createCluster(options: {
  dataDir: string;
  binaries: Binaries;
  account: Account;
  superuserPassword: string;
}): Promise<void> {
  const { dataDir, account } = options;
  removeStagingFolders(dataDir);
  const staging = mkdtempSync(join(dataDir, stagingPrefix));
  const passwordFile = join(staging, 'password');
  writeFileSync(passwordFile, options.superuserPassword, { mode: 0o600 });
  if (account.isOtherUser)
    for (const path of [staging, passwordFile]) chownSync(path, account.uid, account.gid);
  await initCluster(options, join(staging, 'cluster'), passwordFile);
  const cluster = clusterFolder(dataDir);
  if (listEntries(cluster).length === 0) rmSync(cluster, { recursive: true, force: true });
  renameSync(join(staging, 'cluster'), cluster);
  syncToDisk(dataDir);
  rmSync(passwordFile);
  rmdirSync(staging);
}

export function writeSettings(
  { path, use, connectionsMax = 0 }: Pick<DataDir, 'path' | 'use' | 'connectionsMax'>,
  account: Account,
): void {
  const cluster = clusterFolder(path);
  const owner = account.isOtherUser ? account : undefined;
  const files = {
    'postgresql.conf': settingsFile(use, connectionsMax),
    'pg_hba.conf': 'local all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\n',
  };
  for (const [name, text] of Object.entries(files)) {
    const file = join(cluster, name);
    // Each write waits for the disk twice, which may take a second on one that is busy.
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeDurably(file, text, owner);
  }
}

async function initCluster(
  options: { binaries: Binaries; account: Account },
  folder: string,
  passwordFile: string,
): Promise<void> {
  // PostgreSQL's built-in C.UTF-8 sorts alike on every system, so that no system upgrade breaks an index.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const login = [`--username=${superuser}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  let reason = '';
  // Trigrams, however, ask the system's locale what a letter is, and `C` has no letters beyond ASCII.
  for (const ctype of [...ctypeLocales.map((name) => [`--lc-ctype=${name}`]), []]) {
    const initArgs = [`--pgdata=${folder}`, ...locale, ...ctype, ...login, '--data-checksums'];
    const command = options.account.command(options.binaries.initdb, initArgs);
    const { status, output } = await runProgram(command.program, command.args, command.options);
    if (status === 0) return;
    reason = output;
    if (!/locale/i.test(reason)) break;
  }
  throw new DatabaseError('init_failed', `PostgreSQL could not be set up in ${folder}: ${reason}`);
}

const ctypeLocales = ['C.UTF-8', 'en_US.UTF-8'];

/** Best effort: the initdb of a killed server may still be writing. */
function removeStagingFolders(dataDir: string): void {
  for (const name of listEntries(dataDir)) {
    if (!name.startsWith(stagingPrefix)) continue;
    try {
      rmSync(join(dataDir, name), { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
    }
  }
}

function listEntries(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** Written on each start, so that a new release's settings apply. ALTER SYSTEM has precedence over this file. */
function settingsFile(use: ClusterUse, connectionsMax: number): string {
  const ofUse = use === 'app_databases' ? { ...settings, ...settingsForApps } : settings;
  const all = Object.entries({ ...ofUse, max_connections: Math.max(ofUse.max_connections, connectionsMax) });
  const lines = all.map(([name, value]) => `${name} = '${value}'`);
  return ['# Written on each start. Change settings with ALTER SYSTEM.', ...lines, ''].join('\n');
}

/** Command-line arguments, which no setting overrides: the server must find its database at this endpoint. */
export function endpointArguments(endpoint: Endpoint): string[] {
  // unix_socket_directories is a list: an unquoted comma in the folder's name would split it.
  const named =
    endpoint.kind === 'tcp'
      ? { listen_addresses: '127.0.0.1', unix_socket_directories: '' }
      : { listen_addresses: '', unix_socket_directories: `"${endpoint.folder.replaceAll('"', '""')}"` };
  const settings = Object.entries({ ...named, port: endpoint.port });
  return settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

const settings = {
  max_connections: 200,
  // Files in the data dir: /dev/shm is small in containers, and removing its files crashes the database.
  dynamic_shared_memory_type: 'mmap',
  shared_buffers: '256MB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  wal_level: 'replica',
  min_wal_size: '80MB',
  max_wal_size: '1GB',
  checkpoint_timeout: '5min',
  // For SSDs: the default of 4 keeps the planner from using indexes.
  random_page_cost: 1.1,
  password_encryption: 'scram-sha-256',
  timezone: 'UTC',
  log_timezone: 'UTC',
  datestyle: 'iso, ymd',
  lc_messages: 'C',
  default_text_search_config: 'pg_catalog.simple',
  log_destination: 'stderr',
  logging_collector: 'off',
  log_line_prefix: '%m [%p] %q%u@%d ',
  // The default also logs each failed statement with its values, which are users' data.
  log_min_error_statement: 'panic',
  log_parameter_max_length_on_error: 0,
  log_error_verbosity: 'terse',
  // A statement whose client has disconnected would continue and hold its locks. Not supported on Windows.
  ...(process.platform === 'win32' ? {} : { client_connection_check_interval: '5s' }),
};

const settingsForApps = {
  max_connections: 120,
  shared_buffers: '64MB',
  max_wal_size: '256MB',
  max_wal_senders: 0,
  max_replication_slots: 0,
};

export type ClusterUse = 'control_plane' | 'app_databases';

export interface DataDir {
  use: ClusterUse;
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
