import { chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { patientMs } from './patience.ts';
import { copyPrepared } from './prepare-once.ts';

const server = '/usr/sbin/mariadbd';
const install = '/usr/bin/mariadb-install-db';

export const hasMariaDb = existsSync(server) && existsSync(install);

export interface MariaDbServer {
  host: string;
  port: number;
  /** Of the account that may do everything. */
  user: string;
  stop(): Promise<void>;
}

const startMsMax = patientMs(30_000);
/** Debian's account of the package: MariaDB refuses to run as root. */
const account = 'mysql';

/** Listens at a free port of the loopback address, with data in the folder. */
export async function startMariaDb(
  folder: string,
  tls?: Record<'cert' | 'key', string>,
): Promise<MariaDbServer> {
  const data = join(folder, 'data');
  mkdirSync(folder, { recursive: true });
  const asRoot = process.getuid?.() === 0;
  if (asRoot) for (const path of [folder, ...Object.values(tls ?? {})]) chownSync(path, ...accountIds());
  await copyPrepared(data, 'mariadb', installInto);
  const [host, port] = ['127.0.0.1', freePort()];
  const log = join(folder, 'mariadbd.log');
  const child = Bun.spawn(
    [
      ...(asRoot ? ['setpriv', '--reuid', account, '--regid', account, '--clear-groups'] : ['setpriv']),
      '--pdeathsig',
      'KILL',
      server,
      '--no-defaults',
      `--datadir=${data}`,
      `--bind-address=${host}`,
      `--port=${port}`,
      `--socket=${join(data, 'socket')}`,
      '--innodb-buffer-pool-size=32M',
      '--innodb-flush-log-at-trx-commit=0',
      '--skip-log-bin',
      '--character-set-server=utf8mb4',
      `--pid-file=${join(data, 'pid')}`,
      ...(tls ? [`--ssl-cert=${tls.cert}`, `--ssl-key=${tls.key}`] : []),
    ],
    { cwd: data, stdin: 'ignore', stdout: Bun.file(log), stderr: Bun.file(log) },
  );
  const stop = async () => {
    child.kill('SIGKILL');
    await child.exited;
  };
  const until = performance.now() + startMsMax;
  while (!(await answers(host, port))) {
    if (child.exitCode !== null || performance.now() > until) {
      await stop();
      throw new Error(`mariadbd did not start: ${readFileSync(log, 'utf8')}`);
    }
    await Bun.sleep(50);
  }
  return { host, port, user: 'root', stop };
}

/** Creates the system tables, which takes longer than a start. */
async function installInto(data: string): Promise<void> {
  mkdirSync(data);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(data, ...accountIds());
  const flags = ['--no-defaults', '--auth-root-authentication-method=normal', '--skip-test-db'];
  const installed = Bun.spawnSync(
    [install, ...flags, `--datadir=${data}`, ...(isRoot ? [`--user=${account}`] : [])],
    { stdout: 'ignore', stderr: 'pipe' },
  );
  if (installed.exitCode !== 0) throw new Error(`mariadb-install-db failed: ${installed.stderr}`);
}

function accountIds(): [uid: number, gid: number] {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${account}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid === undefined || gid === undefined) throw new Error(`There is no account ${account}.`);
  return [Number(uid), Number(gid)];
}

/** The server speaks first. */
function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('data', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
