import { type ChildProcess, spawn } from 'node:child_process';
import { identify, type ProcessIdentity } from '../../database/process-identity.ts';
import type { LogSink } from '../runtime.ts';
import type { AppUser, AppUsers } from './app-users.ts';
import type { ControlGroup } from './control-groups.ts';
import { markName } from './environment.ts';
import { hearOutput } from './hear-output.ts';

export interface Launch {
  /** The app's own text: a shell's by its nature. */
  command: string;
  dir: string;
  mark: string;
  user: AppUser | null;
  group: ControlGroup | null;
  env: Readonly<Record<string, string>>;
  /** Where they are of a user of their own. */
  processesMax: number;
  log: LogSink;
}

export interface Launched {
  identity: ProcessIdentity;
  /** How it ended, as a person is told. */
  ended: Promise<Ending>;
  /** Everything that it said has been handed on; comes only once nobody has its output open. */
  silent: Promise<void>;
}

export interface Ending {
  ok: boolean;
  how: string;
}

const openFilesMax = 8192;
/** In blocks of 512 bytes: 8 GiB. */
const fileBlocksMax = 16_777_216;
// As root still: joins the control groups, and is the first to go where the machine's memory ends. Shells name the
// number of processes `u` or `p`.
const enter = `umask 022; ulimit -c 0; echo 500 2>/dev/null >/proc/self/oom_score_adj
{ ulimit -n ${openFilesMax}; ulimit -f ${fileBlocksMax}; } 2>/dev/null
if [ "$1" -gt 0 ]; then { ulimit -u "$1" || ulimit -p "$1" || exit 126; } 2>/dev/null; fi
n=$2; shift 2
while [ "$n" -gt 0 ]; do echo $$ >"$1/cgroup.procs" || exit 126; shift; n=$((n-1)); done
exec "$@"`;
// As the app's user: the folder is entered and the variables are taken only now, so that neither does anything as root.
const begin = 'cd -- "$1" || exit 126; eval "$(cat)"; exec </dev/null; exec /bin/sh -c "$2"';

/** A session of its own. Names, paths and values are arguments or read from a pipe, never part of a shell's text. */
export function launch(users: AppUsers, wish: Launch): Promise<Launched> {
  const isWindows = process.platform === 'win32';
  const child = isWindows ? spawnOnWindows(wish) : spawnInSession(users, wish);
  const ended = new Promise<Ending>((resolve) => {
    child.once('exit', (code, signal) => resolve(endingOf(code, signal)));
    child.once('error', (error) => resolve({ ok: false, how: `could not be started: ${error.message}` }));
  });
  const hear = async (name: 'stdout' | 'stderr') => {
    const stream = child[name];
    if (stream) await hearOutput(stream, { name, log: wish.log });
  };
  const silent = Promise.all([hear('stdout'), hear('stderr')]).then(() => {});
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => {
      const pid = child.pid ?? 0;
      resolve({ identity: identify(pid) ?? { pid, started: '' }, ended, silent });
    });
  });
}

function spawnInSession(
  users: AppUsers,
  { command, dir, mark, user, group, env, processesMax, log }: Launch,
): ChildProcess {
  const folders = group?.folders ?? [];
  const nice = group === null || folders.length === 0 ? ['nice', '-n', '5'] : [];
  const inner = ['/bin/sh', '-c', begin, 'svc-app', dir, command];
  // They are counted by user: without one of their own, the server's processes would be counted too.
  const limit = user ? processesMax : 0;
  const args = ['-c', enter, 'svc-app', String(limit), String(folders.length), ...folders];
  const child = spawn('/bin/sh', [...args, ...nice, ...users.prefix(user), ...inner], {
    cwd: '/',
    detached: true,
    // What the app set itself is not here, where root would be led by it.
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', [markName]: mark },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin?.on('error', (error) =>
    log('platform', `The variables could not be handed over: ${error.message}`),
  );
  child.stdin?.end(exports(env));
  return child;
}

function spawnOnWindows({ command, dir, mark, env }: Launch): ChildProcess {
  return spawn(command, {
    cwd: dir,
    shell: true,
    windowsHide: true,
    env: { ...env, [markName]: mark },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function exports(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new Error(`Not the name of a variable: ${name}.`);
      return `export ${name}='${value.replaceAll('\0', '').replaceAll("'", "'\\''")}'\n`;
    })
    .join('');
}

function endingOf(code: number | null, signal: NodeJS.Signals | null): Ending {
  if (code === 0) return { ok: true, how: 'ended by itself' };
  return { ok: false, how: signal ? `was ended by ${signal}` : `ended with exit code ${code}` };
}
