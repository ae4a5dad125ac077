import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { findProcess, type ProcessIdentity } from '../../os/processes.ts';
import type { LogSink } from '../runtime.ts';
import type { AppUser, AppUsers } from './app-users.ts';
import type { ControlGroup } from './control-groups.ts';
import { runIdVariable } from './environment.ts';
import { readOutput } from './output.ts';
import type { Box, Sandbox } from './sandbox.ts';

export interface LaunchOptions {
  command: string;
  dir: string;
  mark: string;
  user: AppUser | null;
  group: ControlGroup | null;
  env: Readonly<Record<string, string>>;
  processesMax: number;
  log: LogSink;
  /** Null without isolation. */
  sandbox: { sandbox: Sandbox; box: Box } | null;
}

export interface LaunchedProcess {
  identity: ProcessIdentity;
  ended: Promise<ExitResult>;
  outputEnded: Promise<void>;
}

export interface ExitResult {
  ok: boolean;
  /** As a shell reports it: 128 and the number for a signal. */
  code: number;
  how: string;
}

const openFilesMax = 8192;
/** In blocks of 512 bytes: 8 GiB. */
const fileBlocksMax = 16_777_216;
// Runs as root. The limit of processes is `ulimit -u` or `-p`, depending on the shell.
const enterScript = `umask 022; ulimit -c 0; echo 500 2>/dev/null >/proc/self/oom_score_adj
{ ulimit -n ${openFilesMax}; ulimit -f ${fileBlocksMax}; } 2>/dev/null
if [ "$1" -gt 0 ]; then { ulimit -u "$1" || ulimit -p "$1" || exit 126; } 2>/dev/null; fi
n=$2; shift 2
while [ "$n" -gt 0 ]; do echo $$ >"$1/cgroup.procs" || exit 126; shift; n=$((n-1)); done
exec "$@"`;
/** Programs of the project's virtual environment come first, those of its packages last, as on Heroku. */
const activate = 'export PATH="$PWD/.venv/bin:$PATH:$PWD/node_modules/.bin"';
// Runs as the app's user: enters the folder and reads the variables only now, so that neither has an effect as root.
const startScript = `cd -- "$1" || exit 126
eval "$(cat)"; ${activate}; exec </dev/null; exec /bin/sh -c "$2"`;
/**
 * The end of the first process ends a sandbox. After SIGTERM it waits for the others, e.g. for the server that npm has
 * started and does not wait for.
 */
const startInSandboxScript = `cd -- "$1" || exit 126
if [ "$3" -gt 0 ]; then { ulimit -u "$3" || ulimit -p "$3"; } 2>/dev/null; fi
eval "$(cat)"; ${activate}; exec </dev/null
trap 'stopping=1' TERM; /bin/sh -c "$2"; code=$?
while [ -n "$stopping" ]; do set -- /proc/[0-9]*; [ $# -gt 2 ] || break; sleep 0.02; done
exit $code`;

/** Starts a new session. Names, paths and values are arguments or come from a pipe, never part of a shell script. */
export function launch(users: AppUsers, options: LaunchOptions): Promise<LaunchedProcess> {
  const isWindows = process.platform === 'win32';
  const child = isWindows ? spawnOnWindows(options) : spawnInSession(users, options);
  const ended = new Promise<ExitResult>((resolve) => {
    child.once('exit', (code, signal) => resolve(describeExit(code, signal)));
    child.once('error', (error) =>
      resolve({ ok: false, code: 126, how: `could not be started: ${error.message}` }),
    );
  });
  const logStream = async (name: 'stdout' | 'stderr') => {
    const stream = child[name];
    if (stream) await readOutput(stream, { name, log: options.log });
  };
  const outputEnded = Promise.all([logStream('stdout'), logStream('stderr')]).then(() => {});
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => {
      const pid = child.pid ?? 0;
      resolve({ identity: findProcess(pid) ?? { pid, started: '' }, ended, outputEnded });
    });
  });
}

function spawnInSession(
  users: AppUsers,
  { command, dir, mark, user, group, env, processesMax, log, sandbox }: LaunchOptions,
): ChildProcess {
  const folders = group?.folders ?? [];
  const nice = group === null || folders.length === 0 ? ['nice', '-n', '5'] : [];
  // The limit counts per user and user namespace: without either the app would share it with the server.
  const limit = user ? processesMax : 0;
  const limitInside = sandbox && !user ? processesMax : 0;
  const script = sandbox ? startInSandboxScript : startScript;
  const inner = ['/bin/sh', '-c', script, 'svc-app', dir, command, String(limitInside)];
  const enter = sandbox ? sandbox.sandbox.enter(sandbox.box) : users.prefix(user);
  const args = ['-c', enterScript, 'svc-app', String(limit), String(folders.length), ...folders];
  const child = spawn('/bin/sh', [...args, ...nice, ...enter, ...inner], {
    cwd: '/',
    detached: true,
    // Without the app's variables, which could influence programs that run as root.
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', [runIdVariable]: mark },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin?.on('error', (error) =>
    log('platform', `The variables could not be passed to the app: ${error.message}`),
  );
  child.stdin?.end(shellExports({ ...env, [runIdVariable]: mark }));
  return child;
}

function spawnOnWindows({ command, dir, mark, env }: LaunchOptions): ChildProcess {
  return spawn(command, {
    cwd: dir,
    shell: true,
    windowsHide: true,
    env: { ...env, [runIdVariable]: mark },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function shellExports(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new Error(`Invalid variable name: ${name}.`);
      return `export ${name}='${value.replaceAll('\0', '').replaceAll("'", "'\\''")}'\n`;
    })
    .join('');
}

function describeExit(code: number | null, signal: NodeJS.Signals | null): ExitResult {
  if (code === 0) return { ok: true, code, how: 'ended with exit code 0' };
  // bwrap reports a signal as a shell does.
  const name = signal ?? signalName((code ?? 0) - 128);
  return {
    ok: false,
    code: code ?? 128 + (signal === null ? 0 : constants.signals[signal]),
    how: name ? `was ended by ${name}` : `ended with exit code ${code}`,
  };
}

const signalName = (number: number) =>
  Object.entries(constants.signals).find(([, value]) => value === number)?.[0];

/** A shell process that kills the app's processes when the server dies: it waits for the end of a pipe. */
export interface Guard {
  /** Each leads a group of processes. */
  lead(leaders: readonly number[]): void;
  dismiss(): void;
}

// `kill -1` as the user ends all its processes at once, so that none escapes by forking; root then kills what
// is left.
const guardScript = `trap '' HUP INT QUIT TERM
leaders=; mark=$1; uid=$2; shift 2
while read -r word value; do
  case $word in
    leaders) leaders=$value ;;
    done) exit 0 ;;
  esac
done
if [ -z "$uid" ]; then
  for leader in $leaders; do kill -s KILL -- "-$leader"; done
  for folder in /proc/[0-9]*; do
    if tr '\\0' '\\n' <"$folder/environ" | grep -qx "$mark"; then kill -s KILL "\${folder#/proc/}"; fi
  done 2>/dev/null
  exit 0
fi
for round in 1 2 3; do
  "$@" /bin/sh -c 'kill -s KILL -- -1'
  for folder in /proc/[0-9]*; do
    while read -r key is rest; do
      [ "$key" = Uid: ] || continue
      [ "$is" != "$uid" ] || kill -s KILL "\${folder#/proc/}"
      break
    done <"$folder/status"
  done
done 2>/dev/null`;

/** Must be started before any process of the user. */
export function startGuard(
  users: AppUsers,
  { mark, user }: { mark: string; user: AppUser | null },
): Promise<Guard> {
  if (process.platform === 'win32') return Promise.resolve({ lead() {}, dismiss() {} });
  const userArgs = user ? [String(user.uid), ...users.prefix(user)] : [''];
  const child = spawn('/bin/sh', ['-c', guardScript, 'svc-guard', `${runIdVariable}=${mark}`, ...userArgs], {
    cwd: '/',
    detached: true,
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.stdin?.on('error', () => {});
  child.unref();
  const guard: Guard = {
    lead: (leaders) => child.stdin?.write(`leaders ${leaders.join(' ')}\n`),
    dismiss: () => child.stdin?.end('done\n'),
  };
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => resolve(guard));
  });
}
