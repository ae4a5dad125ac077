import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import type { RuntimeWorld } from './conformance-testing.ts';
import { mapped } from './network-testing.ts';
import type { Built } from './runtime.ts';
import { type SampleInstance, serverSecret } from './testing.ts';

export interface Victim {
  instance: SampleInstance;
  built: Built;
}

export interface IsolationWorld extends RuntimeWorld {
  dataDir: string;
  listensAt: readonly string[];
  /** Go before a command that runs on a machine of the platform, outside of sandboxes: there every attack must succeed. */
  outside?: readonly (readonly string[])[];
  /** Unix sockets with rights over the instances. */
  sockets: readonly string[];
  /** Paths of `private.txt` of the victim and of what the runtime stores about it, on a machine of the platform. */
  victimFiles(victim: Victim): Promise<string[]>;
  /** Where the processes of apps are on this machine. */
  findProcessOf?(victim: Victim): { pid: number; command: string };
  /** Besides the addresses of this machine. */
  targets?(victim: SampleInstance): Promise<{ hosts: string[]; ports: number[]; appPorts: number[] }>;
  /** What an app can store in file systems in memory. */
  memoryFilesMax?: { bytes: number; files: number };
  /** Addresses that answer at ports 53 and 80, and that no app may reach; `%*`: by any link. Empty: there is no peer. */
  peers: readonly string[];
}

type Target = { host: string; port: number } | { path: string };

/** Succeeds if one of its parts does. */
interface Attack {
  name: string;
  read?: readonly string[];
  connect?: readonly Target[];
  /** A process of this machine has one of these in its environment, or below its root folder. */
  environment?: string;
  files?: readonly string[];
  /** The number may be that of another process inside: its command line decides. */
  signal?: { pid: number; command: string };
  run?: string;
}

const addKey = process.arch === 'arm64' ? 217 : 248;
const sessionKeyring = -3;

/** What only root can do, and system calls. It succeeds outside of the sandbox for root of a new user namespace. */
export const rightsAttacks: readonly Attack[] = [
  // Apps of all users would share the keyring of the session.
  `perl -e 'exit(syscall(${addKey}, my $kind = "user", my $name = "svc", my $text = "x", 1, ${sessionKeyring}) < 0)'`,
  'unshare -Ur true',
  'mount -t tmpfs none /tmp',
  'chroot / true',
  'ip route add unreachable 192.0.2.0/24',
  'ip link set lo down',
].map((run) => ({ name: `run ${run}`, run }));

const sharedMemoryFile = '/proc/sysvipc/shm';

interface SharedMemory {
  key: string;
  remove(): void;
}

/** A segment that processes of this machine can see until it is removed. */
export function shareMemory(): SharedMemory {
  const id = /\d+/.exec(Bun.spawnSync(['ipcmk', '--shmem', '4096']).stdout.toString())?.[0] ?? '';
  const listed = new RegExp(`^ *(-?\\d+) +${id} `, 'm').exec(readFileSync(sharedMemoryFile, 'utf8'));
  return { key: listed?.[1] ?? 'none', remove: () => void Bun.spawnSync(['ipcrm', '--shmem-id', id]) };
}

export async function listAttacks(
  world: IsolationWorld,
  { victim, listeners, memory }: { victim: Victim; listeners: readonly number[]; memory: SharedMemory },
): Promise<Attack[]> {
  const { instance } = victim;
  const key = join(world.dataDir, 'keys', 'master');
  const beside = join(dirname(world.dataDir), 'of-the-machine.txt');
  mkdirSync(dirname(key), { recursive: true });
  for (const path of [key, beside]) writeFileSync(path, 'secret', { mode: 0o600 });
  const files = await world.victimFiles(victim);
  const app = world.findProcessOf?.(victim);
  const addresses = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const own = addresses.flatMap(({ family, address }) => (family === 'IPv4' ? [address] : []));
  const own6 = addresses.flatMap(({ family, address, internal }) =>
    family === 'IPv6' && !internal ? [address.startsWith('fe80:') ? `${address}%*` : address] : [],
  );
  const more = (await world.targets?.(instance)) ?? { hosts: [], ports: [], appPorts: [] };
  const hosts = [...new Set(['127.0.0.1', '::1', 'localhost', ...own, ...more.hosts])];
  const at = (ports: readonly number[]) => hosts.flatMap((host) => ports.map((port) => ({ host, port })));
  return [
    { name: 'read the data dir', read: [key] },
    { name: 'read a file beside the data dir', read: [beside] },
    ...files.map((path) => ({ name: `read ${path} of another app`, read: [path] })),
    { name: 'read the environment of the server', read: [`/proc/${process.pid}/environ`] },
    { name: 'read the environment of another app', environment: serverSecret },
    { name: 'read files by the root folder of a process', files: [key, ...files] },
    { name: 'send a signal to the server', signal: { pid: process.pid, command: 'bun' } },
    ...(app ? [{ name: 'send a signal to another app', signal: app }] : []),
    { name: 'see shared memory of the machine', run: `grep -q '^ *${memory.key} ' ${sharedMemoryFile}` },
    ...(process.getuid?.() === 0 ? [{ name: 'read the password file', read: ['/etc/shadow'] }] : []),
    ...world.sockets.map((path) => ({ name: `connect to ${path}`, connect: [{ path }] })),
    { name: 'connect to a port of the machine', connect: at([...listeners, ...more.ports]) },
    ...[['::1'], [mapped('127.0.0.1')], ...(own6.length > 0 ? [own6] : [])].map((to) => ({
      name: `connect to a port of the machine at ${to.join(', ')}`,
      connect: to.flatMap((host) => listeners.map((port) => ({ host, port }))),
    })),
    { name: 'have an IPv6 address', run: 'grep -qv " lo$" /proc/net/if_inet6' },
    {
      name: 'connect to another app',
      connect: at([Number(instance.address.split(':').at(-1)), ...more.appPorts]),
    },
    ...world.peers.map((host) => ({
      name: `connect to ${host}`,
      connect: [80, 53].map((port) => ({ host, port })),
    })),
  ];
}

/** Prints the attacks of `attacks.json` beside it that succeeded, one per line; then `done`. */
export const attacker = `
const fs = require('node:fs'), net = require('node:net'), cp = require('node:child_process');
const attacks = JSON.parse(fs.readFileSync(__dirname + '/attacks.json', 'utf8'));
const connect = (target) => new Promise((resolve) => {
  const socket = net.connect({ ...target, timeout: 3000 }, () => { socket.destroy(); resolve(true); });
  socket.on('error', () => resolve(false)).on('timeout', () => { socket.destroy(); resolve(false); });
});
const attempt = (act) => { try { return act(); } catch { return false; } };
const links = fs.readFileSync('/proc/net/dev', 'utf8').split('\\n').flatMap((line) => /^ *(.+):/.exec(line)?.[1] ?? []);
const byLinks = (target) => target.host?.endsWith('%*') ? links.map((link) => ({ ...target, host: target.host.replace('*', link) })) : [target];
const processes = () => fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name));
function succeeds({ read = [], environment, files, signal, run }) {
  if (read.some((path) => attempt(() => fs.readFileSync(path).length > 0))) return true;
  if (environment && processes().some((id) => attempt(() => fs.readFileSync('/proc/' + id + '/environ', 'utf8').includes(environment)))) return true;
  if (files && processes().some((id) => files.some((path) => fs.existsSync('/proc/' + id + '/root' + path)))) return true;
  if (signal && attempt(() => process.kill(signal.pid, 0) && fs.readFileSync('/proc/' + signal.pid + '/cmdline', 'utf8').includes(signal.command))) return true;
  return Boolean(run) && cp.spawnSync('sh', ['-c', 'PATH=$PATH:/usr/sbin:/sbin; ' + run]).status === 0;
}
(async () => {
  // At the same time, because most get no answer; and before commands, which may change the network.
  const connected = await Promise.all(attacks.map(async ({ connect: targets = [] }) =>
    (await Promise.all(targets.flatMap(byLinks).map(connect))).includes(true)));
  for (const [at, attack] of attacks.entries())
    if (connected[at] || succeeds(attack)) console.log('succeeded: ' + attack.name);
  console.log('done');
})();
`;

/** The names of the attacks that succeed where `enter` leads. */
export async function attackFrom(
  enter: readonly string[],
  folder: string,
  attacks: readonly Attack[],
): Promise<string[]> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'attack.js'), attacker);
  writeFileSync(join(folder, 'attacks.json'), JSON.stringify(attacks));
  const child = Bun.spawn([...enter, 'node', join(folder, 'attack.js')], {
    env: { PATH: process.env.PATH ?? '' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error('The attacks could not be tried.');
  return successes(text.split('\n'));
}

const prefix = 'succeeded: ';
export const successes = (lines: readonly string[]) =>
  lines.flatMap((line) => (line.startsWith(prefix) ? [line.slice(prefix.length)] : []));
