import { BlockList, isIP } from 'node:net';

export interface TrustedProxies {
  includes(address: string): boolean;
}

/** The peer of a connection over a Unix socket, in place of an address. */
export const socketPeer = 'unix';

/**
 * Each proxy appends its peer to `X-Forwarded-For`: read from the end while proxies are trusted; clients may
 * invent the rest.
 */
export function resolveClientAddress(
  peer: string,
  forwardedFor: string | null,
  trusted: TrustedProxies,
): string {
  let address = normalizeIp(peer) ?? peer;
  for (const entry of forwardedFor?.split(',').reverse() ?? []) {
    if (!trusted.includes(address)) break;
    const next = normalizeIp(entry.trim());
    if (next === null) break;
    address = next;
  }
  return address;
}

/** A subscriber has a whole IPv6 /64, so its addresses count as one. */
export function addressGroup(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped) return mapped;
  const bare = address.replace(/%.*$/, '');
  if (isIP(bare) !== 6) return address;
  const [head = '', tail = ''] = bare.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === '' ? [] : tail.split(':');
  const zeros = bare.includes('::') ? Array<string>(8 - left.length - right.length).fill('0') : [];
  const groups = [...left, ...zeros, ...right]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16));
  return `${groups.join(':')}::/64`;
}

const loopback = ['127.0.0.0/8', '::1/128'];

export function parseTrustedProxies(text: string): TrustedProxies {
  const list = new BlockList();
  const entries = text.split(',').map((entry) => entry.trim());
  for (const entry of entries.filter((entry) => entry !== '')) {
    for (const network of entry === 'loopback' ? loopback : [entry]) addNetwork(list, network);
  }
  return {
    includes: (address) => {
      const known = normalizeIp(address);
      return known !== null && list.check(known, ipFamily(known));
    },
  };
}

function addNetwork(list: BlockList, network: string): void {
  const [, start = '', prefixText] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(network) ?? [];
  const address = normalizeIp(start);
  const written = ipBits(start);
  const prefix = prefixText === undefined ? written : Number(prefixText);
  // IPv4 written as IPv6 has a prefix of 96 bits.
  const bits = address === null ? -1 : prefix - (written - ipBits(address));
  if (address === null || bits < 0 || prefix > written)
    throw new RangeError(`${network} is neither an IP address nor a network`);
  list.addSubnet(address, bits, ipFamily(address));
}

function normalizeIp(address: string): string | null {
  if (isIP(address) === 4) return address;
  const url = isIP(address) === 6 ? URL.parse(`http://[${address}]`) : null;
  if (!url) return null;
  const ipv6 = url.hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(ipv6) ?? [];
  if (high === undefined || low === undefined) return ipv6;
  const groups = [high, low].map((group) => Number.parseInt(group, 16));
  return groups.flatMap((group) => [group >> 8, group & 0xff]).join('.');
}

function ipFamily(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

function ipBits(address: string): number {
  return isIP(address) === 4 ? 32 : 128;
}
