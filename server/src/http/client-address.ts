import { isIP } from 'node:net';
import { type IpNetworks, normalizeIp, parseNetworks } from '../core/ip-networks.ts';

export type TrustedProxies = IpNetworks;

/** The peer of a connection over a Unix socket, in place of an address. */
export const socketPeer = 'unix';

/** The address of all apps in a sandbox, from the range for network tests (RFC 2544), which no client has. */
export const appAddress = '198.18.0.2';

/** Read from the end while proxies are trusted: each appends its peer, and clients may invent the rest. */
export function resolveClientAddress(peer: string, forwardedFor: string | null, trusted: TrustedProxies) {
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

const loopback = '127.0.0.0/8,::1/128';

export function parseTrustedProxies(text: string): TrustedProxies {
  return parseNetworks(text.replace(/(^|,)\s*loopback\s*(?=,|$)/g, `$1${loopback}`));
}
