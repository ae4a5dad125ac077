import { BlockList, isIP } from 'node:net';
import type { DnsError } from './dns.ts';
import { addressesIn, type DnsAnswer, namesIn, negativeAnswerZone } from './query.ts';

export type NameServers =
  | { kind: 'found'; addresses: readonly string[] }
  | { kind: 'none' }
  | { kind: 'unknown'; reason: DnsError };

type Resolve = (name: string, type: 'NS' | 'A' | 'AAAA') => Promise<DnsAnswer | DnsError>;

const namesMax = 6;
const addressesMax = 8;

export async function findNameServers(
  name: string,
  resolve: Resolve,
  isConfigured: (address: string) => boolean,
): Promise<NameServers> {
  // Never in the DNS (RFC 6761), so no query is needed.
  if (/(^|\.)invalid$/.test(name)) return { kind: 'none' };
  for (let at = name; at !== ''; ) {
    const answer = await resolve(at, 'NS');
    if (typeof answer === 'string') return { kind: 'unknown', reason: answer };
    const names = namesIn(answer, at, 'NS');
    if (names.length > 0) return resolveNameServers(shuffle(names).slice(0, namesMax), resolve, isConfigured);
    const zone = negativeAnswerZone(answer);
    // After a CNAME, a negative answer belongs to the zone of its target.
    const isOwn = zone !== null && namesIn(answer, at, 'CNAME').length === 0 && isBelow(at, zone);
    at = isOwn ? zone : at.slice(at.indexOf('.') + 1 || at.length);
  }
  return { kind: 'none' };
}

async function resolveNameServers(
  names: readonly string[],
  resolve: Resolve,
  isConfigured: (address: string) => boolean,
): Promise<NameServers> {
  let reason: DnsError = 'unreachable';
  const found = { A: [] as string[], AAAA: [] as string[] };
  const each = names.flatMap((name) => (['A', 'AAAA'] as const).map((type) => ({ name, type })));
  await Promise.all(
    each.map(async ({ name, type }) => {
      const answer = await resolve(name, type);
      if (typeof answer === 'string') reason = answer;
      else found[type].push(...addressesIn(answer, name, type));
    }),
  );
  // The owner of a zone chooses its name servers: they must not lead queries into private networks.
  const addresses = [...shuffle(found.A), ...shuffle(found.AAAA)].filter(
    (address) => isPublicAddress(address) || isConfigured(address),
  );
  if (addresses.length === 0) return { kind: 'unknown', reason };
  return { kind: 'found', addresses: addresses.slice(0, addressesMax) };
}

function isBelow(name: string, zone: string): boolean {
  return zone === '' || name.endsWith(`.${zone}`);
}

function shuffle<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}

const special = toBlockList(
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
  '2001:db8::/32 2001::/23 2002::/16',
);
const globalUnicast = toBlockList('2000::/3');

function toBlockList(...lists: string[]): BlockList {
  const blocked = new BlockList();
  for (const network of lists.join(' ').split(' ')) {
    const [address = '', bits] = network.split('/');
    blocked.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return blocked;
}

export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !special.check(address, 'ipv4');
  return isIP(address) === 6 && globalUnicast.check(address, 'ipv6') && !special.check(address, 'ipv6');
}
