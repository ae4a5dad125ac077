import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { baseImage, busybox, makeBaseImage, run } from './docker-base-image.ts';
import { patientMs } from './patience.ts';

/**
 * Debian's Docker engine for tests, in its own network, mount and process namespaces, so that it cannot affect an
 * engine of the machine. Requires root.
 */
const programs = {
  docker: '/usr/bin/docker',
  dockerd: '/usr/sbin/dockerd',
  busybox,
  ip: findIp(),
};

export const hasDockerEngine =
  Object.values(programs).every((program) => existsSync(program)) &&
  Bun.which('node') !== null &&
  process.getuid?.() === 0 &&
  Bun.spawnSync(['unshare', '--net', '--mount', '--pid', '--fork', 'true'], { stderr: 'ignore' }).exitCode ===
    0;

export interface DockerEngine {
  host: string;
  address: string;
  baseImage: string;
  docker(...words: string[]): Promise<string>;
  /** Runs `ip` in the network of the engine. */
  ip(...words: string[]): Promise<string>;
  /** Goes before a command that runs on the engine's machine: in its namespaces, outside of containers. */
  enter: readonly string[];
  /** The address of this machine in the network of the engine, and the link to it. */
  gateway: { address: string; link: string };
  stop(): Promise<void>;
}

const startMsMax = patientMs(30_000);

export async function startDockerEngine(
  folder: string,
  options: { swarm?: boolean; registries?: string } = {},
): Promise<DockerEngine> {
  mkdirSync(folder, { recursive: true });
  const number = Math.floor(Math.random() * 2 ** 14);
  const net = `198.18.${number >> 6}.`;
  const first = (number & 63) << 2;
  const [ours, address, link] = [`${net}${first + 1}`, `${net}${first + 2}`, `svct${number}`];
  const group = `svc-test-${number}`;
  const socket = join(folder, 'd.sock');
  const log = Bun.file(join(folder, 'dockerd.log'));
  const daemon = [
    '--data-root',
    join(folder, 'data'),
    '--exec-root',
    join(folder, 'exec'),
    '--pidfile',
    join(folder, 'pid'),
    '-H',
    `unix://${socket}`,
    '--cgroup-parent',
    `/${group}`,
    '--shutdown-timeout',
    '2',
    ...(options.registries ? ['--insecure-registry', options.registries] : []),
    // An empty configuration file hides the machine's own settings.
    '--config-file',
    emptyFile(folder, 'daemon.json', '{}\n'),
  ];
  // The network link is moved in from outside once the namespace exists. /etc/docker is hidden, because another
  // engine may store its identity there.
  const script = `while ! ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
mkdir -p /etc/docker && mount -t tmpfs none /etc/docker && mount --bind "$1" /etc/resolv.conf && shift && exec "$@"`;
  const inside = [
    'sh',
    '-c',
    script,
    '-',
    emptyFile(folder, 'resolv.conf', '\n'),
    programs.dockerd,
    ...daemon,
  ];
  const child = Bun.spawn(
    [
      'setpriv',
      '--pdeathsig',
      'KILL',
      'unshare',
      '--net',
      '--mount',
      '--pid',
      '--fork',
      '--mount-proc',
      '--kill-child',
      '--',
      ...inside,
    ],
    { cwd: folder, env: { PATH: process.env.PATH ?? '' }, stdin: 'ignore', stdout: log, stderr: log },
  );
  const docker = (...words: string[]) => run(programs.docker, '-H', `unix://${socket}`, ...words);
  const stop = async () => {
    // Stop the daemon first, so that it can stop its containers.
    const pid = daemonOf(child.pid);
    if (pid !== null) {
      try {
        process.kill(pid, 'SIGTERM');
      } catch {}
      await Promise.race([child.exited, Bun.sleep(10_000)]);
    }
    child.kill('SIGKILL');
    await child.exited;
    await removeGroups(group);
  };
  try {
    await joinByLink({ pid: child.pid, link, ours, address });
    for (const deadline = Date.now() + startMsMax; ; await Bun.sleep(50)) {
      if (existsSync(socket) && (await answers(socket))) break;
      if (Date.now() > deadline || child.exitCode !== null) throw new Error('It did not start.');
    }
    await makeBaseImage(folder, docker);
    if (options.swarm) await docker('swarm', 'init', '--advertise-addr', '127.0.0.1');
  } catch (error) {
    await stop();
    throw new Error(
      `dockerd: ${String(error)} See dockerd.log in ${folder}:\n${(await log.text()).slice(-1_500)}`,
    );
  }
  const ip = (...words: string[]) => run('nsenter', `--net=/proc/${child.pid}/ns/net`, programs.ip, ...words);
  return {
    host: `unix://${socket}`,
    address,
    gateway: { address: ours, link },
    baseImage,
    docker,
    ip,
    enter: ['nsenter', `--target=${daemonOf(child.pid)}`, '--net', '--mount', '--pid', '--'],
    stop,
  };
}

async function joinByLink(cable: {
  pid: number;
  link: string;
  ours: string;
  address: string;
}): Promise<void> {
  const { pid, link, ours, address } = cable;
  const here = readlinkSync('/proc/self/ns/net');
  for (const deadline = Date.now() + startMsMax; ; await Bun.sleep(5)) {
    if (netOf(pid) !== null && netOf(pid) !== here) break;
    if (Date.now() > deadline) throw new Error('No namespace was made.');
  }
  const within = (...words: string[]) => run('nsenter', `--net=/proc/${pid}/ns/net`, programs.ip, ...words);
  await run(programs.ip, 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'cable', 'netns', String(pid));
  await run(programs.ip, 'addr', 'add', `${ours}/30`, 'dev', link);
  await run(programs.ip, 'link', 'set', link, 'up');
  await within('link', 'set', 'lo', 'up');
  await within('addr', 'add', `${address}/30`, 'dev', 'cable');
  await within('link', 'set', 'cable', 'up');
  await within('route', 'add', 'default', 'via', ours);
  await within('link', 'set', 'cable', 'down');
  await within('link', 'set', 'cable', 'name', 'eth0');
  await within('link', 'set', 'eth0', 'up');
  await within('route', 'replace', 'default', 'via', ours);
}

function netOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return null;
  }
}

function daemonOf(pid: number): number | null {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      if (stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] === String(pid)) return Number(name);
    } catch {}
  }
  return null;
}

async function answers(socket: string): Promise<boolean> {
  return fetch('http://engine/_ping', { unix: socket, signal: AbortSignal.timeout(2_000) }).then(
    (answer) => answer.ok,
    () => false,
  );
}

/** Groups stay busy for a moment after their last process has ended. */
async function removeGroups(group: string): Promise<void> {
  const top = '/sys/fs/cgroup';
  const folders = [join(top, group), ...readdirSync(top).map((name) => join(top, name, group))];
  for (const deadline = Date.now() + removeMsMax; ; await Bun.sleep(20)) {
    const left = folders.filter((each) => existsSync(each));
    for (const folder of left) {
      for (const below of readdirSync(folder, { withFileTypes: true }))
        if (below.isDirectory()) tryRemove(join(folder, below.name));
      tryRemove(folder);
    }
    if (left.length === 0 || Date.now() > deadline) return;
  }
}

const removeMsMax = 2_000;

function tryRemove(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {}
}

function emptyFile(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function findIp(): string {
  return (
    ['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip', '/bin/ip'].find((path) => existsSync(path)) ?? '/sbin/ip'
  );
}
