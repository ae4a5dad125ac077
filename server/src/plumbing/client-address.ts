import { BlockList, isIP } from 'node:net';

/** Addresses whose word on where a request came from is taken. */
export interface TrustedProxies {
  includes(address: string): boolean;
}

/**
 * Where a request came from. Each proxy appends whom it heard it from, so the list is read from its end, as long as
 * those who wrote it are trusted: what stands before that, the client may have made up.
 */
export function clientAddress(peer: string, forwardedFor: string | null, trusted: TrustedProxies): string {
  let address = normalised(peer) ?? peer;
  for (const entry of forwardedFor?.split(',').reverse() ?? []) {
    if (!trusted.includes(address)) break;
    const next = normalised(entry.trim());
    if (next === null) break;
    address = next;
  }
  return address;
}

const loopback = ['127.0.0.0/8', '::1/128'];

/** Addresses and networks with commas between them; `loopback` stands for this machine. Throws a RangeError. */
export function parseTrustedProxies(text: string): TrustedProxies {
  const list = new BlockList();
  const entries = text.split(',').map((entry) => entry.trim());
  for (const entry of entries.filter((entry) => entry !== '')) {
    for (const network of entry === 'loopback' ? loopback : [entry]) addNetwork(list, network);
  }
  return {
    includes: (address) => {
      const known = normalised(address);
      return known !== null && list.check(known, familyOf(known));
    },
  };
}

function addNetwork(list: BlockList, network: string): void {
  const [, start = '', prefixText] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(network) ?? [];
  const address = normalised(start);
  const written = isIP(start) === 4 ? 32 : 128;
  const prefix = prefixText === undefined ? written : Number(prefixText);
  // IPv4 written as IPv6 has 96 bits before it.
  const bits = address === null ? -1 : prefix - (written - bitsOf(address));
  if (address === null || bits < 0 || prefix > written) {
    throw new RangeError(`${network} is neither an address nor a network`);
  }
  list.addSubnet(address, bits, familyOf(address));
}

/** One way of writing for each address, IPv4 that arrives over IPv6 as IPv4; null for what is no address. */
function normalised(address: string): string | null {
  if (isIP(address) === 4) return address;
  const url = isIP(address) === 6 ? URL.parse(`http://[${address}]`) : null;
  if (!url) return null;
  const ipv6 = url.hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(ipv6) ?? [];
  if (high === undefined || low === undefined) return ipv6;
  return [high, low].flatMap(bytesOf).join('.');
}

function bytesOf(group: string): [number, number] {
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

function bitsOf(address: string): number {
  return isIP(address) === 4 ? 32 : 128;
}
