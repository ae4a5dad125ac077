import { networkInterfaces } from 'node:os';

export type Egress = 'public' | 'all' | 'none';

export interface BoxNetwork {
  /** The same port inside, which the server reaches at 127.0.0.1. */
  port: number | null;
  /** Services on the loopback address of this machine that have the same address inside. */
  hostPorts: readonly number[];
  egress: Egress;
  /** Addresses that are open whatever `egress` says. */
  allowed: readonly string[];
}

/** A port inside, at its loopback address. */
export interface Target {
  port: number;
  family: 4 | 6;
}

/** The address range for tests of networks, which no real network uses. */
const ownAddress = '198.18.0.2';
const gateway = '198.18.0.1';
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

/** Routes need no firewall, and the app has no right to change them. */
export function routes({ egress, allowed }: BoxNetwork): string {
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
