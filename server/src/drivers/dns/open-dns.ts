import { getServers } from 'node:dns';
import { type Asking, askServer } from './ask-server.ts';
import type { CaaRecord, Dns, DnsLook, DnsRoute, DnsServerAddress, DnsTrouble, Found } from './dns.ts';
import { findNameServers, type NameServers } from './find-name-servers.ts';
import { parseDnsServer } from './parse-dns-servers.ts';
import { addressesAt, caaAt, namesAt, type Said, saidBy, textsAt } from './replies.ts';

export interface DnsOptions {
  /** Resolvers, which find the name servers of a zone; null: those of the machine. */
  servers: readonly DnsServerAddress[] | null;
  /** Where name servers listen. */
  port: number;
}

type RecordType = 'A' | 'AAAA' | 'TXT' | 'CAA' | 'CNAME' | 'NS';

const roundsMax = 2;
const aliasesMax = 8;
const valuesMax = 50;
const lookMsMax = 8_000;

export function openDns({ servers, port }: DnsOptions): Dns {
  const named = new Set(servers?.map(({ host }) => host));
  return {
    look: () => beginLook({ servers: servers ?? ownServers(), port, isNamed: (it) => named.has(it) }),
  };
}

interface LookOptions {
  servers: readonly DnsServerAddress[];
  port: number;
  /** Told by the operator, so it may be asked wherever it is. */
  isNamed: (address: string) => boolean;
}

function beginLook({ servers, port, isNamed }: LookOptions): DnsLook {
  const deadline = AbortSignal.timeout(lookMsMax);
  const known = new Map<string, Promise<NameServers>>();

  const resolve = (name: string, type: RecordType) =>
    askInTurn(servers, { question: { name, type }, of: 'resolver', deadline });

  /** Names below one another mostly are of one zone, but each may be one of its own. */
  const nameServers = (name: string): Promise<NameServers> => {
    const found = known.get(name) ?? findNameServers(name, resolve, isNamed);
    known.set(name, found);
    return found;
  };

  const ask = async (name: string, type: RecordType): Promise<Said | DnsTrouble> => {
    const asked = await nameServers(name);
    if (asked.kind === 'unknown') return asked.because;
    if (asked.kind === 'none') return noSuchName;
    const hosts = asked.addresses.map((host) => ({ host, port }));
    return askInTurn(hosts, { question: { name, type }, of: 'authority', deadline });
  };

  const follow = async (name: string, type: 'A' | 'CAA', ends: (alias: string) => boolean) => {
    const aliases: string[] = [];
    for (let at = name; ; ) {
      const said = await ask(at, type);
      const alias = typeof said === 'string' ? undefined : namesAt(said, at, 'CNAME')[0];
      if (alias === undefined) return { aliases, at, said };
      const isLoop = aliases.includes(alias) || alias === name || aliases.length === aliasesMax;
      if (isLoop) return { aliases, at, said: noSuchName };
      aliases.push(alias);
      if (ends(alias)) return { aliases, at: alias, said: null };
      at = alias;
    }
  };

  return {
    async txt(name) {
      const said = await ask(name, 'TXT');
      return found(said, (it) => textsAt(it, name));
    },
    async route(name, ends): Promise<DnsRoute> {
      const { aliases, at, said } = await follow(name, 'A', ends);
      if (said === null) return { aliases, addresses: { kind: 'found', values: [] } };
      const four = found(said, (it) => addressesAt(it, at, 'A'));
      if (four.kind === 'unknown' || (four.kind === 'none' && four.because === 'no_name'))
        return { aliases, addresses: four };
      const six = found(await ask(at, 'AAAA'), (it) => addressesAt(it, at, 'AAAA'));
      return { aliases, addresses: together(four, six) };
    },
    async caa(name): Promise<Found<CaaRecord>> {
      for (let at = name; at !== ''; at = at.slice(at.indexOf('.') + 1 || at.length)) {
        const { at: end, said } = await follow(at, 'CAA', () => false);
        const records = found(said ?? noSuchName, (it) => caaAt(it, end));
        if (records.kind !== 'none') return records;
      }
      return { kind: 'none', because: 'no_records' };
    },
  };
}

const noSuchName: Said = { name: 'not_there', hasAuthority: true, answers: [], authorities: [] };

/** One after the other until one says something; what was wrong with the last is told where none does. */
async function askInTurn(servers: readonly DnsServerAddress[], asking: Asking): Promise<Said | DnsTrouble> {
  let because: DnsTrouble = 'unreachable';
  for (let round = 0; round < roundsMax; round++) {
    for (const server of servers) {
      if (asking.deadline.aborted) return 'timeout';
      const reply = await askServer(server, asking);
      const said = reply.kind === 'trouble' ? reply.because : saidBy(reply.packet);
      if (typeof said === 'string') because = said;
      else if (asking.of === 'authority' && !said.hasAuthority) because = 'lame';
      else return said;
    }
  }
  return because;
}

function found<T>(said: Said | DnsTrouble, valuesOf: (said: Said) => T[]): Found<T> {
  if (typeof said === 'string') return { kind: 'unknown', because: said };
  const values = valuesOf(said).slice(0, valuesMax);
  if (values.length > 0) return { kind: 'found', values };
  return { kind: 'none', because: said.name === 'there' ? 'no_records' : 'no_name' };
}

function together(one: Found<string>, other: Found<string>): Found<string> {
  if (other.kind !== 'found') return other.kind === 'unknown' ? other : one;
  return { kind: 'found', values: one.kind === 'found' ? [...one.values, ...other.values] : other.values };
}

/** As the machine's configuration has them, read anew: it may have changed. */
function ownServers(): DnsServerAddress[] {
  return getServers().map(parseDnsServer);
}
