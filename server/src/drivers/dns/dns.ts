import { isIP } from 'node:net';

/** Asks authoritative servers, without caches. Only their answers count as `none`; any outage is `unknown`. */
export interface Dns {
  startLookup(): DnsLookup;
}

export interface DnsLookup {
  txt(name: string): Promise<DnsResult<string>>;
  route(name: string, isTarget: (alias: string) => boolean): Promise<DnsRoute>;
  /** CAA records for the name (RFC 8659), from the nearest parent that has some. */
  caa(name: string): Promise<DnsResult<CaaRecord>>;
}

export type DnsResult<T> =
  | { kind: 'found'; values: readonly T[] }
  | { kind: 'none'; reason: 'no_name' | 'no_records' }
  | { kind: 'unknown'; reason: DnsError };

export interface DnsRoute {
  aliases: readonly string[];
  addresses: DnsResult<string>;
}

export interface CaaRecord {
  tag: string;
  value: string;
  isCritical: boolean;
}

export type DnsError = 'timeout' | 'unreachable' | 'servfail' | 'refused' | 'lame';

export interface DnsServerAddress {
  host: string;
  port: number;
}

const portDefault = 53;

export function parseDnsServers(text: string): DnsServerAddress[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map(parseDnsServer);
}

export function parseDnsServer(text: string): DnsServerAddress {
  if (isIP(text)) return { host: text, port: portDefault };
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain ?? '';
  const port = digits === '' ? portDefault : Number(digits);
  if (!isIP(host) || port < 1 || port > 65_535)
    throw new RangeError(`${text} is not the address of a name server`);
  return { host, port };
}
