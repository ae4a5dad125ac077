import { accessSync, chmodSync, constants, existsSync, realpathSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { runProgram } from '../../os/processes.ts';
import type { AppUser } from './app-users.ts';

/** Own user, mount, process, IPC and network namespaces for each instance and each build. */
export interface Sandbox {
  /** Goes before the command of the app. */
  enter(box: Box): string[];
  /** The folders of `PATH` that exist in the sandbox. */
  path: string;
}

export interface Box {
  user: AppUser | null;
  /** Folders that have the same path inside. */
  folders: readonly { path: string; isWritable: boolean }[];
  tmp: string;
  /** The same port inside, which the server reaches at 127.0.0.1. */
  port: number | null;
  /** Services on the loopback address of this machine that have the same address inside. */
  hostPorts: readonly number[];
  egress: Egress;
  /** Addresses that are open whatever `egress` says. */
  allowed: readonly string[];
}

export type Egress = 'public' | 'all' | 'none';

const programs = {
  bwrap: 'bubblewrap',
  pasta: 'passt',
  ip: 'iproute2',
  unshare: 'util-linux',
  setpriv: 'util-linux',
};
const programFolders = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/local/sbin'];

/** The address range for tests of networks, which no real network uses. */
const ownAddress = '198.18.0.2';
const gateway = '198.18.0.1';
const nameServer = '198.18.0.53';

const sandboxFiles = {
  hosts: '127.0.0.1 localhost\n',
  'resolv.conf': `nameserver ${nameServer}\n`,
  passwd: 'app:x:1000:1000:app:/tmp:/bin/sh\n',
  group: 'app:x:1000:\n',
};

/** Readable for the user of the app. */
export function writeSandboxFiles(folder: string): void {
  chmodSync(folder, 0o711);
  for (const [name, text] of Object.entries(sandboxFiles))
    writeFileSync(join(folder, name), text, { mode: 0o644 });
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
    const sources = [options.filesFolder, ...tools, box.tmp, ...box.folders.map(({ path }) => path)];
    // As root, the folders are first mounted where the user of the app can enter.
    const staged = (path: string) => (isRoot ? `/mnt/${sources.indexOf(path)}` : path);
    const mounts = [
      ...systemFolders.flatMap((path) => ['--ro-bind-try', path, path]),
      ...Object.keys(sandboxFiles).flatMap((name) => [
        '--ro-bind',
        join(staged(options.filesFolder), name),
        `/etc/${name}`,
      ]),
      ...tools.flatMap((path) => ['--ro-bind', staged(path), path]),
      '--bind',
      staged(box.tmp),
      '/tmp',
      ...box.folders.flatMap(({ path, isWritable }) => [
        isWritable ? '--bind' : '--ro-bind',
        staged(path),
        path,
      ]),
    ];
    return [
      ...(isRoot
        ? [
            'unshare',
            '--mount',
            '--propagation',
            'private',
            '/bin/sh',
            '-c',
            stageScript,
            'svc-stage',
            String(sources.length),
            ...sources,
          ]
        : []),
      ...(box.user ? runAs(box.user) : []),
      ...pastaCommand(box),
      '/bin/sh',
      '-c',
      'printf %s "$1" | ip -batch - || exit 126; shift; exec "$@"',
      'svc-routes',
      routes(box),
      ...bwrapCommand,
      ...mounts,
      '--',
    ];
  };
  return { enter, path: visiblePath(options.path, tools) };
}

/** Runs a command in a sandbox, because only that shows whether the kernel allows it. */
export async function tryOut(sandbox: Sandbox, box: Box): Promise<string | null> {
  const [program = '', ...args] = [...sandbox.enter(box), 'true'];
  const { status, output } = await runProgram(program, args, {
    cwd: '/',
    env: { PATH: programFolders.join(':') },
  });
  return status === 0 ? null : `Apps cannot be isolated on this machine: ${output.slice(0, 300)}`;
}

// Runs as root in a mount namespace of its own.
const stageScript = `mount -t tmpfs -o mode=711 svc /mnt || exit 126
n=$1; at=0; shift
while [ "$at" -lt "$n" ]; do mkdir "/mnt/$at" && mount --bind "$1" "/mnt/$at" || exit 126; shift; at=$((at+1)); done
mknod -m 666 /mnt/tun c 10 200 && mount --bind /mnt/tun /dev/net/tun 2>/dev/null
exec "$@"`;

/** bwrap sets no-new-privs; here it would take away the rights to set up the namespaces. */
const runAs = ({ uid, gid }: AppUser) => [
  'setpriv',
  '--reuid',
  String(uid),
  '--regid',
  String(gid),
  '--clear-groups',
];

function pastaCommand({ port, hostPorts }: Box): string[] {
  const network = ['--ipv4-only', '--config-net', '-a', ownAddress, '-n', '30', '-g', gateway];
  const dns = ['--dns-forward', nameServer];
  const inwards = ['-t', port === null ? 'none' : `127.0.0.1/${port}`, '-u', 'none'];
  const outwards = ['-T', hostPorts.length === 0 ? 'none' : hostPorts.join(','), '-U', 'none', '--no-map-gw'];
  return ['pasta', '--foreground', '--quiet', ...network, ...dns, ...inwards, ...outwards, '--'];
}

const bwrapCommand = [
  'bwrap',
  '--unshare-user',
  '--disable-userns',
  '--uid',
  '1000',
  '--gid',
  '1000',
  '--unshare-pid',
  '--unshare-ipc',
  '--unshare-uts',
  '--hostname',
  'app',
  '--unshare-cgroup-try',
  '--die-with-parent',
  '--cap-drop',
  'ALL',
  '--clearenv',
  '--proc',
  '/proc',
  '--dev',
  '/dev',
  '--size',
  String(64 * 1024 * 1024),
  '--tmpfs',
  '/dev/shm',
  '--dir',
  '/run',
  '--dir',
  '/var',
  '--symlink',
  '/tmp',
  '/var/tmp',
];

const systemFolders = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  ...[
    'alternatives',
    'ca-certificates',
    'crypto-policies',
    'fonts',
    'ld.so.cache',
    'ld.so.conf',
    'ld.so.conf.d',
    'localtime',
    'mime.types',
    'npmrc',
    'pki',
    'protocols',
    'python3',
    'services',
    'ssl',
    'timezone',
  ].map((name) => `/etc/${name}`),
];

/** Never open: this machine, link-local addresses (with them the metadata of clouds) and multicast. */
const neverOpen = ['0.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4'];
const privateRanges = ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16'];

/** With the addresses of this machine. */
export function closedRanges(egress: Egress): string[] {
  const own = Object.values(networkInterfaces())
    .flat()
    .flatMap((found) => (found?.family === 'IPv4' && !found.internal ? [`${found.address}/32`] : []));
  const closed = egress === 'none' ? ['0.0.0.0/1', '128.0.0.0/1'] : egress === 'public' ? privateRanges : [];
  return [...neverOpen, ...closed, ...own];
}

/** Routes need no firewall, and the app has no right to change them. */
function routes({ egress, allowed }: Box): string {
  if (egress === 'none' && allowed.length === 0) return 'route del default\n';
  const closed = closedRanges(egress);
  return [
    ...closed.map((range) => `route add unreachable ${range}`),
    ...allowed
      .filter((address) => !closed.includes(`${address}/32`))
      .map((address) => `route replace ${address}/32 via ${gateway}`),
    '',
  ].join('\n');
}

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

const isInstalled = (name: string) => programFolders.some((folder) => isExecutable(join(folder, name)));

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
