import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { endianness, networkInterfaces } from 'node:os';

export type Egress = 'public' | 'all' | 'none';

export interface BoxNetwork {
  /** The same port inside, which the server reaches at 127.0.0.1. */
  port: number | null;
  /** Services on the loopback address of this machine that have the same address inside. */
  hostPorts: readonly number[];
  egress: Egress;
  /** Ports that are open whatever `egress` says. */
  allowed: readonly { address: string; port: number }[];
}

/** A port inside, at its loopback address. */
export interface Target {
  port: number;
  family: 4 | 6;
}

/** The address range for tests of networks, which no real network uses. */
const ownAddress = '198.18.0.2';
/** Where pasta could lead to the loopback address of this machine. */
export const gateway = '198.18.0.1';
export const nameServer = '198.18.0.53';

const network4 = ['--ipv4-only', '-a', ownAddress, '-n', '30', '-g', gateway];

export function pastaCommand({ port, hostPorts }: BoxNetwork): string[] {
  const dns = ['--dns-forward', nameServer];
  const inwards = ['-t', port === null ? 'none' : `127.0.0.1/${port}`, '-u', 'none'];
  const outwards = ['-T', hostPorts.length === 0 ? 'none' : hostPorts.join(','), '-U', 'none', '--no-map-gw'];
  return [
    'pasta',
    '--foreground',
    '--quiet',
    ...network4,
    '--config-net',
    ...dns,
    ...inwards,
    ...outwards,
    '--',
  ];
}

/** A second pasta in the same namespaces; its own interface there is never up. */
export function forwardCommand({ pid, from, to }: { pid: number; from: number; to: Target }): string[] {
  const namespaces = [
    '--userns',
    `/proc/${pid}/ns/user`,
    '--netns',
    `/proc/${pid}/ns/net`,
    '-I',
    'svc-forward',
  ];
  const network = to.family === 4 ? network4 : network6();
  const ports = ['-t', `${loopback[to.family]}/${from}:${to.port}`, '-u', 'none', '-T', 'none', '-U', 'none'];
  return ['pasta', '--foreground', '--quiet', ...network, ...ports, '--no-map-gw', ...namespaces];
}

export const loopback = { 4: '127.0.0.1', 6: '::1' } as const;

/** pasta looks for an interface with a default route, which many machines have for IPv4 only. */
function network6(): string[] {
  const found = Object.entries(networkInterfaces()).find(([, addresses]) =>
    addresses?.some(({ address }) => address.startsWith('fe80:')),
  );
  return ['--ipv6-only', '-a', 'fd00::2', '-g', 'fd00::1', ...(found ? ['-i', found[0]] : [])];
}

/** Metadata of clouds that is not at a link-local address: Alibaba, Azure and Oracle. */
const metadata = ['100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32'];
/** Never open: this machine, link-local addresses (with the metadata of most clouds) and multicast. */
const neverOpen = ['0.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4', ...metadata];
const privateRanges = ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16'];

/** With the addresses of this machine. */
export function closedRanges(egress: Egress): string[] {
  const own = Object.values(networkInterfaces())
    .flat()
    .flatMap((found) => (found?.family === 'IPv4' && !found.internal ? [`${found.address}/32`] : []));
  const closed = egress === 'none' ? ['0.0.0.0/1', '128.0.0.0/1'] : egress === 'public' ? privateRanges : [];
  return [...neverOpen, ...closed, ...own];
}

const servicesTable = 100;

/** Routes and rules for them need no firewall, and the app has no right to change them. */
export function routes({ egress, allowed }: BoxNetwork): string {
  const closed = closedRanges(egress);
  const open = allowed.filter(({ address }) => !closed.includes(`${address}/32`));
  if (egress === 'none' && open.length === 0) return 'route del default\n';
  const rules = open.map(
    ({ address, port }) => `rule add to ${address}/32 ipproto tcp dport ${port} table ${servicesTable}`,
  );
  return [
    ...closed.map((range) => `route add unreachable ${range}`),
    ...(open.length === 0 ? [] : [`route add default via ${gateway} table ${servicesTable}`]),
    ...new Set(rules),
    '',
  ].join('\n');
}

// Too many ports for one user to occupy all. The range overlaps with ephemeral ports; ports in use are skipped.
const portMin = 20_000;
const portMax = 60_000;
const attemptsMax = 200;

export async function findFreePort(isTaken: (port: number) => boolean): Promise<number> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const port = portMin + Math.floor(Math.random() * (portMax - portMin));
    if (!isTaken(port) && (await isPortFree(port))) return port;
  }
  throw new Error('No free port for an app.');
}

export async function isPortFree(port: number): Promise<boolean> {
  return (await canListen('127.0.0.1', port)) && (await canListen('0.0.0.0', port));
}

function canListen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

export interface Listener {
  address: string;
  port: number;
  uid: number;
}

/** Linux only. The listener with the most specific address receives connections; others are ignored. */
export function listListeningUsers(port: number): number[] {
  const listeners = listListeners('/proc/net', port);
  for (const address of addressPriority) {
    const there = listeners.filter((listener) => listener.address === address);
    if (there.length > 0) return there.map(({ uid }) => uid);
  }
  return [];
}

export function listensPublicly(port: number): boolean {
  return listListeners('/proc/net', port).some(({ address }) => anyAddress.includes(address));
}

/** The folder is `/proc/<pid>/net` for the network namespace of a process. */
export function listListeners(folder: string, only?: number): Listener[] {
  return [`${folder}/tcp`, `${folder}/tcp6`].flatMap((path) =>
    readLines(path).flatMap((line) => {
      const [, local = '', , state, , , , uid] = line.trim().split(/\s+/);
      const [address = '', hexPort = ''] = local.split(':');
      const port = Number.parseInt(hexPort, 16);
      if (state !== listenState || (only !== undefined && port !== only)) return [];
      return [{ address: parseAddress(address), port, uid: Number(uid) }];
    }),
  );
}

const listenState = '0A';
const anyAddress = ['0.0.0.0', '::'];
const mappedLoopback = '::ffff:7f00:1';
const addressPriority = ['127.0.0.1', mappedLoopback, ...anyAddress];

/** Words of 32 bits in the byte order of the machine. */
function parseAddress(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  if (endianness() === 'LE') bytes.swap32();
  if (bytes.length === 4) return bytes.join('.');
  const groups = bytes.toString('hex').replace(/(.{4})(?=.)/g, '$1:');
  return new URL(`http://[${groups}]`).hostname.slice(1, -1);
}

/** How the server gets to a listener in a sandbox: through its loopback address. */
export function loopbackFamily({ address }: Listener): 4 | 6 | null {
  if (addressPriority.includes(address)) return 4;
  return address === '::1' ? 6 : null;
}

/** This file is part of the helper in a container (`docker/port-helper.ts`), whose text has to be short. */
function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return [];
  }
}
