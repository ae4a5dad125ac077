import { getServers } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import {
  type CaaRecord,
  type Dns,
  type DnsError,
  type DnsLookup,
  type DnsResult,
  type DnsRoute,
  type DnsServerAddress,
  parseDnsServer,
} from './dns.ts';
import {
  addressesIn,
  caaRecordsIn,
  type DnsAnswer,
  type DnsQuery,
  namesIn,
  negativeAnswerZone,
  parseAnswer,
  queryServer,
  textsIn,
} from './query.ts';

interface DnsOptions {
  servers: readonly DnsServerAddress[] | null;
  port: number;
}

type RecordType = 'A' | 'AAAA' | 'TXT' | 'CAA' | 'CNAME' | 'NS';

const roundsMax = 2;
const aliasesMax = 8;
const valuesMax = 50;
const lookupMsMax = 8_000;

export function openDns({ servers, port }: DnsOptions): Dns {
  const configured = new Set(servers?.map(({ host }) => host));
  return {
    startLookup: () =>
      startLookup({
        servers: servers ?? getServers().map(parseDnsServer),
        port,
        isConfigured: (address) => configured.has(address),
      }),
  };
}

interface LookupOptions {
  servers: readonly DnsServerAddress[];
  port: number;
  isConfigured: (address: string) => boolean;
}

function startLookup({ servers, port, isConfigured }: LookupOptions): DnsLookup {
  const deadline = AbortSignal.timeout(lookupMsMax);
  const known = new Map<string, Promise<NameServers>>();

  const resolve = (name: string, type: RecordType) =>
    queryServers(servers, { question: { name, type }, to: 'resolver', deadline });

  const nameServers = (name: string): Promise<NameServers> => {
    const toResult = known.get(name) ?? findNameServers(name, resolve, isConfigured);
    known.set(name, toResult);
    return toResult;
  };

  const query = async (name: string, type: RecordType): Promise<DnsAnswer | DnsError> => {
    const servers = await nameServers(name);
    if (servers.kind === 'unknown') return servers.reason;
    if (servers.kind === 'none') return noSuchName;
    const hosts = servers.addresses.map((host) => ({ host, port }));
    return queryServers(hosts, { question: { name, type }, to: 'authority', deadline });
  };

  const follow = async (name: string, type: 'A' | 'CAA', isTarget: (alias: string) => boolean) => {
    const aliases: string[] = [];
    for (let at = name; ; ) {
      const answer = await query(at, type);
      const alias = typeof answer === 'string' ? undefined : namesIn(answer, at, 'CNAME')[0];
      if (alias === undefined) return { aliases, at, answer };
      const isLoop = aliases.includes(alias) || alias === name || aliases.length === aliasesMax;
      if (isLoop) return { aliases, at, answer: noSuchName };
      aliases.push(alias);
      if (isTarget(alias)) return { aliases, at: alias, answer: null };
      at = alias;
    }
  };

  return {
    async txt(name) {
      return toResult(await query(name, 'TXT'), (it) => textsIn(it, name));
    },
    async route(name, isTarget): Promise<DnsRoute> {
      const { aliases, at, answer } = await follow(name, 'A', isTarget);
      if (answer === null) return { aliases, addresses: { kind: 'found', values: [] } };
      const four = toResult(answer, (it) => addressesIn(it, at, 'A'));
      if (four.kind === 'unknown' || (four.kind === 'none' && four.reason === 'no_name'))
        return { aliases, addresses: four };
      const six = toResult(await query(at, 'AAAA'), (it) => addressesIn(it, at, 'AAAA'));
      return { aliases, addresses: mergeResults(four, six) };
    },
    async caa(name): Promise<DnsResult<CaaRecord>> {
      for (let at = name; at !== ''; at = at.slice(at.indexOf('.') + 1 || at.length)) {
        const { at: end, answer } = await follow(at, 'CAA', () => false);
        const records = toResult(answer ?? noSuchName, (it) => caaRecordsIn(it, end));
        if (records.kind !== 'none') return records;
      }
      return { kind: 'none', reason: 'no_records' };
    },
  };
}

const noSuchName: DnsAnswer = { nameExists: false, isAuthoritative: true, answers: [], authorities: [] };

async function queryServers(
  servers: readonly DnsServerAddress[],
  query: DnsQuery,
): Promise<DnsAnswer | DnsError> {
  let reason: DnsError = 'unreachable';
  for (let round = 0; round < roundsMax; round++) {
    for (const server of servers) {
      if (query.deadline.aborted) return 'timeout';
      const reply = await queryServer(server, query);
      const answer = reply.kind === 'error' ? reply.reason : parseAnswer(reply.packet);
      if (typeof answer === 'string') reason = answer;
      else if (query.to === 'authority' && !answer.isAuthoritative) reason = 'lame';
      else return answer;
    }
  }
  return reason;
}

function toResult<T>(answer: DnsAnswer | DnsError, valuesOf: (answer: DnsAnswer) => T[]): DnsResult<T> {
  if (typeof answer === 'string') return { kind: 'unknown', reason: answer };
  const values = valuesOf(answer).slice(0, valuesMax);
  if (values.length > 0) return { kind: 'found', values };
  return { kind: 'none', reason: answer.nameExists ? 'no_records' : 'no_name' };
}

function mergeResults(one: DnsResult<string>, other: DnsResult<string>): DnsResult<string> {
  if (other.kind !== 'found') return other.kind === 'unknown' ? other : one;
  return { kind: 'found', values: one.kind === 'found' ? [...one.values, ...other.values] : other.values };
}

type NameServers =
  | { kind: 'found'; addresses: readonly string[] }
  | { kind: 'none' }
  | { kind: 'unknown'; reason: DnsError };

type Resolve = (name: string, type: 'NS' | 'A' | 'AAAA') => Promise<DnsAnswer | DnsError>;

const namesMax = 6;
const addressesMax = 8;

async function findNameServers(
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
