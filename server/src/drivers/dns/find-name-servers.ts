import type { DnsTrouble } from './dns.ts';
import { isPublicAddress } from './is-public-address.ts';
import { addressesAt, namesAt, type Said, zoneOfNo } from './replies.ts';

export type NameServers =
  | { kind: 'found'; addresses: readonly string[] }
  /** No zone at all holds the name. */
  | { kind: 'none' }
  | { kind: 'unknown'; because: DnsTrouble };

type Resolve = (name: string, type: 'NS' | 'A' | 'AAAA') => Promise<Said | DnsTrouble>;

const namesMax = 6;
const addressesMax = 8;

/** Those of the zone that holds the name: of the name itself, or of the nearest name above it that is a zone. */
export async function findNameServers(
  name: string,
  resolve: Resolve,
  isNamed: (address: string) => boolean,
): Promise<NameServers> {
  // Never a name of the DNS (RFC 6761), so nobody need be asked.
  if (/(^|\.)invalid$/.test(name)) return { kind: 'none' };
  for (let at = name; at !== ''; ) {
    const said = await resolve(at, 'NS');
    if (typeof said === 'string') return { kind: 'unknown', because: said };
    const names = namesAt(said, at, 'NS');
    if (names.length > 0) return addressesOf(shuffled(names).slice(0, namesMax), resolve, isNamed);
    const zone = zoneOfNo(said);
    // Behind an alias, a no is of the zone where that leads.
    const isOwn = zone !== null && namesAt(said, at, 'CNAME').length === 0 && isBelow(at, zone);
    at = isOwn ? zone : at.slice(at.indexOf('.') + 1 || at.length);
  }
  return { kind: 'none' };
}

async function addressesOf(
  names: readonly string[],
  resolve: Resolve,
  isNamed: (address: string) => boolean,
): Promise<NameServers> {
  let because: DnsTrouble = 'unreachable';
  const found = { A: [] as string[], AAAA: [] as string[] };
  const each = names.flatMap((name) => (['A', 'AAAA'] as const).map((type) => ({ name, type })));
  await Promise.all(
    each.map(async ({ name, type }) => {
      const said = await resolve(name, type);
      if (typeof said === 'string') because = said;
      else found[type].push(...addressesAt(said, name, type));
    }),
  );
  // Whoever makes a zone says where its name servers are: that must not send us into networks that are not public.
  const addresses = [...shuffled(found.A), ...shuffled(found.AAAA)].filter(
    (address) => isPublicAddress(address) || isNamed(address),
  );
  if (addresses.length === 0) return { kind: 'unknown', because };
  return { kind: 'found', addresses: addresses.slice(0, addressesMax) };
}

function isBelow(name: string, zone: string): boolean {
  return zone === '' || name.endsWith(`.${zone}`);
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
