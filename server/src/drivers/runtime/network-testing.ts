import { chownSync, readlinkSync } from 'node:fs';
import { resolve } from 'node:path';
import { run } from '../../../../scripts/docker-base-image.ts';
import { temporaryFolder } from '../database/testing.ts';

type Ip = (...words: string[]) => Promise<unknown>;

export const peerAddresses = {
  public: '203.0.113.7',
  private: '10.254.7.2',
  /** Metadata of clouds, link-local and not. */
  metadata: '169.254.169.254',
  containerMetadata: '169.254.170.2',
  otherMetadata: '100.100.100.200',
  home: '192.168.77.1',
  office: '172.31.77.1',
} as const;
const machineAddress = '10.254.7.1';
/** Not in a private range, so that only the rule for the machine's own addresses closes it to apps. */
const machinePublicAddress = '198.51.100.7';

/** Apps have no IPv6. */
export const peerAddresses6 = {
  public: '2001:db8:7::7',
  private: 'fd00:7::2',
  metadata: 'fd00:ec2::254',
} as const;
const machineAddress6 = 'fd00:7::1';
const linkLocal = { peer: 'fe80::7', machine: 'fe80::1' };

/** An IPv4 address, reached by a socket of IPv6. */
export const mapped = (address: string) => `::ffff:${address}`;

/** No app may connect to them with `SVC_APP_EGRESS=public`. `%*` stands for any of the links where the attack runs. */
export const closedPeers = [
  ...Object.values(peerAddresses).filter((address) => address !== peerAddresses.public),
  ...[peerAddresses.metadata, peerAddresses.private].map(mapped),
  ...Object.values(peerAddresses6),
  `${linkLocal.peer}%*`,
];

const serve = `const http = require('node:http');
for (const port of [80, 53]) http.createServer((_, answer) => answer.end('peer')).listen(port);`;

/** Called like the bridges of an engine's networks, as on some machines. */
const peerLink = 'br-peer';

/** Another machine, which answers at public, private and metadata addresses. `ip` sets up the network it is joined to. */
export async function startPeer(ip: Ip) {
  const { child, within } = await startApart(['node', '-e', serve]);
  await ip('link', 'add', peerLink, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(child.pid));
  await ip('addr', 'add', `${machineAddress}/24`, 'dev', peerLink);
  await ip('link', 'set', peerLink, 'up');
  await within('link', 'set', 'lo', 'up');
  await within('link', 'set', 'eth0', 'up');
  await within('addr', 'add', `${peerAddresses.private}/24`, 'dev', 'eth0');
  await within('route', 'add', 'default', 'via', machineAddress);
  for (const address of Object.values(peerAddresses)) {
    if (address === peerAddresses.private) continue;
    await within('addr', 'add', `${address}/32`, 'dev', 'eth0');
    await ip('route', 'add', `${address}/32`, 'via', peerAddresses.private);
  }
  await setUp6(ip, within);
  return {
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
      await ip('link', 'del', peerLink).catch(() => {});
    },
  };
}

async function setUp6(ip: Ip, within: Ip): Promise<void> {
  const { private: gateway, ...others } = peerAddresses6;
  // Without the search for duplicates, which takes seconds.
  const add = (on: Ip, link: string, address: string) => on('addr', 'add', address, 'dev', link, 'nodad');
  await add(ip, peerLink, `${machineAddress6}/64`);
  await add(ip, peerLink, `${linkLocal.machine}/64`);
  await add(within, 'eth0', `${gateway}/64`);
  await add(within, 'eth0', `${linkLocal.peer}/64`);
  await within('-6', 'route', 'add', 'default', 'via', machineAddress6);
  for (const address of Object.values(others)) {
    await add(within, 'eth0', `${address}/128`);
    await ip('-6', 'route', 'add', `${address}/128`, 'via', gateway);
  }
}

/** A process in a network namespace of its own, which ends with this one. */
async function startApart(command: readonly string[]) {
  const child = Bun.spawn(['setpriv', '--pdeathsig', 'KILL', 'unshare', '--net', ...command], {
    stdout: 'ignore',
    stderr: 'ignore',
  });
  const network = `/proc/${child.pid}/ns/net`;
  const own = readlinkSync('/proc/self/ns/net');
  while (readlinkSync(network) === own) await Bun.sleep(5);
  return { child, within: (...words: string[]) => run('nsenter', `--net=${network}`, 'ip', ...words) };
}

const repository = resolve(import.meta.dir, '../../../..');
/** Set where tests run beside a peer. */
export const hasPeer = process.env.SVC_TEST_PEER === '1';

/**
 * The repository may be below a folder that only root can enter. On some machines only root can open the tun device. PostgreSQL
 * needs a user with a name.
 */
const asUser = `mount --bind "$1" /mnt && mount -t tmpfs svc /media && mknod -m 666 /media/tun c 10 200 &&
  mount --bind /media/tun /dev/net/tun && cd /mnt && user=$2 && shift 2 &&
  { cat /etc/passwd; [ "$user" = 0 ] || echo "svc-test:x:$user:$user::/:/bin/sh"; } >/media/passwd &&
  mount --bind /media/passwd /etc/passwd &&
  exec setpriv --reuid "$user" --regid "$user" --clear-groups -- "$@"`;

/** Runs test files on a machine whose network is a peer alone, by an ordinary user unless `userId` is 0. */
export async function testBesidePeer(userId: number, files: readonly string[]) {
  const machine = await startApart(['sleep', 'infinity']);
  await machine.within('link', 'set', 'lo', 'up');
  const peer = await startPeer(machine.within);
  await machine.within('route', 'add', 'default', 'via', peerAddresses.private);
  await machine.within('addr', 'add', `${machinePublicAddress}/32`, 'dev', peerLink);
  const folder = temporaryFolder();
  chownSync(folder.path, userId, userId);
  const enter = ['nsenter', `--net=/proc/${machine.child.pid}/ns/net`];
  const mounts = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', asUser, 'sh', repository];
  const bun = [process.execPath.replace(repository, '/mnt'), 'test', '--timeout=240000'];
  const child = Bun.spawn(
    [...enter, ...mounts, String(userId), ...bun, ...files.map((file) => `./${file}`)],
    {
      cwd: '/',
      env: {
        PATH: process.env.PATH,
        HOME: folder.path,
        TMPDIR: folder.path,
        SVC_TEST_FOLDER: folder.path,
        SVC_TEST_PATIENCE: process.env.SVC_TEST_PATIENCE,
        SVC_TEST_PEER: '1',
        NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS,
      },
      stdout: 'ignore',
      stderr: 'pipe',
    },
  );
  const report = await new Response(child.stderr).text();
  const code = await child.exited;
  await peer.stop();
  machine.child.kill('SIGKILL');
  await folder.remove();
  if (code !== 0) console.error(report);
  return {
    code,
    failed: report.match(/^\(fail\).*$/gm),
    passed: Number(/^ (\d+) pass$/m.exec(report)?.[1]),
  };
}
