import { BlockList, isIP } from 'node:net';

export interface IpNetworks {
  includes(address: string): boolean;
}

export function parseNetworks(text: string): IpNetworks {
  const list = new BlockList();
  const entries = text.split(',').map((entry) => entry.trim());
  for (const entry of entries.filter((entry) => entry !== '')) addNetwork(list, entry);
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

export function normalizeIp(address: string): string | null {
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
