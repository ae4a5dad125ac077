import { chmodSync, constants, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { constants as constantsOfSystem } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { isAccessible } from '../../os/files.ts';
import { runProgram } from '../../os/processes.ts';
import type { AppUser } from './app-users.ts';
import { type BoxNetwork, forwardCommand, nameServer, pastaCommand, routes, type Target } from './network.ts';

/** The start of each sandbox: namespaces of its own, no rights, no way to get any. */
export const bwrapBase = `bwrap --unshare-user --disable-userns --uid 1000 --gid 1000
--unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try
--die-with-parent --cap-drop ALL --proc /proc --dev /dev`.split(/\s/);

/** After the mounts: what bwrap makes in memory would count for no limit. */
export const bwrapEnd = ['--remount-ro', '/dev', '--remount-ro', '/', '--'];

/** Programs, libraries and certificates of the system. */
export const systemFolders = '/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc/ssl /etc/pki'.split(' ');

export const mountReadOnly = (paths: readonly string[]) =>
  paths.flatMap((path) => ['--ro-bind-try', path, path]);

interface Source {
  path: string;
  /** The app changes a copy of the folder; its changes are stored here. */
  changes?: string;
}

/** Own user, mount, process, IPC and network namespaces for each instance and each build. */
export interface Sandbox {
  /** Goes before the command of the app. */
  enter(box: Box): string[];
  /** Carries connections to a port inside, until it is killed. */
  forward(options: ForwardOptions): string[];
  /** The folders of `PATH` that exist in the sandbox. */
  path: string;
}

export interface ForwardOptions {
  user: AppUser | null;
  /** The process that set up the sandbox. */
  pid: number;
  /** A port of this machine, at the loopback address of the same kind. */
  from: number;
  to: Target;
}

export interface Box extends BoxNetwork {
  user: AppUser | null;
  /** Folders that have the same path inside, unless another one is named. */
  folders: readonly (Source & { isWritable: boolean; inside?: string })[];
  tmp: string;
}

const programs = {
  bwrap: 'bubblewrap',
  pasta: 'passt',
  ip: 'iproute2',
  unshare: 'util-linux',
  setpriv: 'util-linux',
};
const programFolders = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/local/sbin'];

const sandboxFiles = {
  hosts: '127.0.0.1 localhost\n',
  'resolv.conf': `nameserver ${nameServer}\n`,
  passwd: 'app:x:1000:1000:app:/tmp:/bin/sh\n',
  group: 'app:x:1000:\n',
};

/** Readable for the user of the app. */
export function writeSandboxFiles(folder: string): void {
  chmodSync(folder, 0o711);
  mkdirSync(join(folder, memoryFolder), { recursive: true });
  writeFileSync(join(folder, filterFile), systemCallFilter(), { mode: 0o644 });
  for (const [name, text] of Object.entries(sandboxFiles))
    writeFileSync(join(folder, name), text, { mode: 0o644 });
}

/** Where a sandbox mounts its own file system in memory, with the folders `shm` and `run`. */
const memoryFolder = 'memory';
const memoryOptions = 'size=64m,nr_inodes=16k,mode=711';
const filterFile = 'system-calls';

/** add_key, request_key and keyctl, because keyrings belong to a session or user, not to a namespace. */
const refusedCalls = [
  { architecture: 0xc000003e, numbers: [248, 249, 250] }, // x86_64
  { architecture: 0x40000003, numbers: [286, 287, 288] }, // i386
  { architecture: 0xc00000b7, numbers: [217, 218, 219] }, // aarch64
  { architecture: 0x40000028, numbers: [309, 310, 311] }, // arm
];

/** A program for seccomp (seccomp(2), linux/bpf_common.h). */
function systemCallFilter(): Buffer {
  const [load, and, jumpIfEqual, end] = [0x20, 0x54, 0x15, 0x06];
  const [numberAt, architectureAt] = [0, 4];
  const [allow, refuse] = [0x7fff_0000, 0x0005_0000 + constantsOfSystem.errno.ENOSYS];
  // The numbers of x32 have one more bit.
  const numberBits = 0xbfff_ffff;
  const program: [code: number, ifTrue: number, ifFalse: number, value: number][] = [
    [load, 0, 0, architectureAt],
    ...refusedCalls.flatMap(({ architecture, numbers }): [number, number, number, number][] => [
      [jumpIfEqual, 0, numbers.length + 4, architecture],
      [load, 0, 0, numberAt],
      [and, 0, 0, numberBits],
      ...numbers.map((number, at): [number, number, number, number] => [
        jumpIfEqual,
        numbers.length - at,
        0,
        number,
      ]),
      [end, 0, 0, allow],
      [end, 0, 0, refuse],
    ]),
    [end, 0, 0, allow],
  ];
  const bytes = Buffer.alloc(program.length * 8);
  for (const [at, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, at * 8);
    bytes.writeUInt8(ifTrue, at * 8 + 2);
    bytes.writeUInt8(ifFalse, at * 8 + 3);
    bytes.writeUInt32LE(value, at * 8 + 4);
  }
  return bytes;
}

export function findMissingTools(): string | null {
  if (process.platform !== 'linux') return 'Apps can be isolated on Linux only.';
  const missing = Object.entries(programs).filter(([name]) => !isInstalled(name));
  if (missing.length === 0) return null;
  const names = missing.map(([name]) => name).join(', ');
  const packages = [...new Set(missing.map(([, name]) => name))].join(' ');
  return `Apps cannot be isolated, because programs are missing: ${names}. Install ${packages}.`;
}

export function openSandbox(options: { filesFolder: string; path: string }): Sandbox {
  const tools = toolFolders(options.path);
  const enter = (box: Box) => {
    const isRoot = box.user !== null;
    const sources: Source[] = [
      ...[options.filesFolder, ...tools, box.tmp].map((path) => ({ path })),
      ...box.folders,
    ];
    const copied = isRoot ? [] : box.folders.flatMap(({ path, changes }) => (changes ? [path, changes] : []));
    // As root, the folders are first mounted where the user of the app can enter.
    const staged = (path: string, changes?: string) => {
      if (isRoot) return `/mnt/${sources.findIndex((source) => source.path === path)}`;
      return changes ? join(changes, 'merged') : path;
    };
    const mounts = [
      ...['shm', 'run'].flatMap((name) => [
        '--bind',
        join(staged(options.filesFolder), memoryFolder, name),
        name === 'shm' ? '/dev/shm' : '/run',
      ]),
      ...mountReadOnly(visibleFolders),
      ...Object.keys(sandboxFiles).flatMap((name) => [
        '--ro-bind',
        join(staged(options.filesFolder), name),
        `/etc/${name}`,
      ]),
      ...tools.flatMap((path) => ['--ro-bind', staged(path), path]),
      '--bind',
      staged(box.tmp),
      '/tmp',
      ...box.folders.flatMap(({ path, isWritable, changes, inside = path }) => [
        isWritable || changes ? '--bind' : '--ro-bind',
        staged(path, changes),
        inside,
      ]),
    ];
    return [
      ...(box.user ? stage(box.user, sources) : []),
      ...pastaCommand(box),
      '/bin/sh',
      '-c',
      enterScript,
      'svc-routes',
      routes(box),
      ...mountInside,
      staged(options.filesFolder),
      ...copied,
      '--',
      ...bwrapCommand,
      ...mounts,
      ...bwrapEnd,
    ];
  };
  const forward = ({ user, pid, from, to }: ForwardOptions) => [
    ...(user ? stage(user, []) : []),
    ...forwardCommand({ pid, from, to }),
  ];
  return { enter, forward, path: visiblePath(options.path, tools) };
}

export function runInSandbox(sandbox: Sandbox, box: Box, command: readonly string[]) {
  const [program = '', ...args] = [...sandbox.enter(box), ...command];
  const env = { PATH: programFolders.join(':') };
  // Where pasta may not write the map of users, it waits for ever.
  return runProgram(program, args, { cwd: '/', env, limitMs: runMsMax });
}

const runMsMax = 60_000;

/** Read-only where the kernel allows no overlay: there, an instance gets copied files. */
const mountCopy = (options: string) => `copy() {
  mount -t overlay svc -o "${options}lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$3" 2>/dev/null ||
    { mount --bind "$1" "$3" && mount -o remount,bind,ro "$3"; }
}`;

// Runs as root in a mount namespace of its own.
const stageScript = `${mountCopy('')}
mount -t tmpfs -o mode=711 svc /mnt || exit 126
n=$1; at=0; shift
while [ "$at" -lt "$n" ]; do
  mkdir "/mnt/$at" || exit 126
  if [ -n "$2" ]; then copy "$1" "$2" "/mnt/$at"; else mount --bind "$1" "/mnt/$at"; fi || exit 126
  shift 2; at=$((at+1))
done
mknod -m 666 /mnt/tun c 10 200 && mount --bind /mnt/tun /dev/net/tun 2>/dev/null
exec "$@"`;

/**
 * pasta passes its listening socket on: connected again, it would lead to this machine. It carries no IPv6; without an address
 * of it (the kernel gives each link one) an app cannot even try.
 */
const enterScript = `for fd in /proc/self/fd/*; do [ "\${fd##*/}" -le 2 ] || eval "exec \${fd##*/}>&-"; done
echo 0 2>/dev/null >/proc/sys/net/ipv4/ip_unprivileged_port_start
for link in /proc/sys/net/ipv6/conf/*; do
  case $link in */all | */lo) ;; *) echo 1 2>/dev/null >"$link/disable_ipv6" ;; esac
done
printf %s "$1" | ip -batch - || exit 126; shift; exec "$@"`;

/** pasta starts a process namespace with the /proc of another one, where bwrap would not find its own processes. */
const mountInside = [
  'unshare',
  '--mount',
  '/bin/sh',
  '-c',
  `${mountCopy('userxattr,')}
mount -t proc proc /proc 2>/dev/null
mount -t tmpfs -o ${memoryOptions} svc "$1/${memoryFolder}" &&
  mkdir "$1/${memoryFolder}/shm" "$1/${memoryFolder}/run" && exec 9<"$1/${filterFile}" || exit 126; shift
while [ "$1" != -- ]; do copy "$1" "$2" "$2/merged" || exit 126; shift 2; done
shift; exec "$@"`,
  'svc-mount',
];

/** bwrap sets no-new-privs; here it would take away the rights to set up the namespaces. */
const stage = ({ uid, gid }: AppUser, sources: readonly Source[]) => [
  'unshare',
  '--mount',
  '--propagation',
  'private',
  '/bin/sh',
  '-c',
  stageScript,
  'svc-stage',
  String(sources.length),
  ...sources.flatMap(({ path, changes = '' }) => [path, changes]),
  'setpriv',
  '--reuid',
  String(uid),
  '--regid',
  String(gid),
  '--clear-groups',
];

const bwrapCommand = [
  ...bwrapBase,
  '--hostname',
  'app',
  '--clearenv',
  '--seccomp',
  '9',
  '--dir',
  '/var',
  '--symlink',
  '/tmp',
  '/var/tmp',
];

const systemFiles = `alternatives ca-certificates crypto-policies fonts ld.so.cache ld.so.conf ld.so.conf.d
localtime mime.types npmrc protocols python3 services timezone`.split(/\s/);

const visibleFolders = [...systemFolders, ...systemFiles.map((name) => `/etc/${name}`)];

/** Where Node.js is installed outside of /usr, as by a version manager. */
function toolFolders(path: string): string[] {
  return path.split(delimiter).flatMap((folder) => {
    if (isSystemPath(folder) || !existsSync(join(folder, 'node'))) return [];
    const prefix = dirname(dirname(realpathSync(join(folder, 'node'))));
    return [join(prefix, 'bin'), join(prefix, 'lib', 'node_modules')].filter((it) => existsSync(it));
  });
}

const visiblePath = (path: string, tools: readonly string[]) =>
  path
    .split(delimiter)
    .filter((folder) => isSystemPath(folder) || tools.includes(folder))
    .join(delimiter);

const isSystemPath = (folder: string) => /^\/(?:usr|bin|sbin)(?:\/|$)/.test(folder);

const isInstalled = (name: string) =>
  programFolders.some((folder) => isAccessible(join(folder, name), constants.X_OK));
