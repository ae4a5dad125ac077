/**
 * What the name servers of a zone say themselves, and nothing that anybody remembers of it. Only an answer with authority
 * is a no: an outage, wherever it is, is `unknown`.
 */
export interface Dns {
  /** A look has a time of its own, and finds the name servers of a zone once. */
  look(): DnsLook;
}

export interface DnsLook {
  /** The texts at the name itself: an alias there is not followed. */
  txt(name: string): Promise<Found<string>>;
  /** Where the name leads. Aliases are followed, up to one that `ends` the way. */
  route(name: string, ends: (alias: string) => boolean): Promise<DnsRoute>;
  /** Who may issue certificates for the name (RFC 8659), from the nearest name above it that says something. */
  caa(name: string): Promise<Found<CaaRecord>>;
}

export type Found<T> =
  | { kind: 'found'; values: readonly T[] }
  /** The name is not there, or has no such record. */
  | { kind: 'none'; because: 'no_name' | 'no_records' }
  | { kind: 'unknown'; because: DnsTrouble };

export interface DnsRoute {
  /** In the order in which they lead on. */
  aliases: readonly string[];
  /** Empty where an alias ended the way. */
  addresses: Found<string>;
}

export interface CaaRecord {
  tag: string;
  value: string;
  isCritical: boolean;
}

export type DnsTrouble =
  | 'timeout'
  | 'unreachable'
  | 'servfail'
  | 'refused'
  /** It answers, but not with authority. */
  | 'lame';

export interface DnsServerAddress {
  host: string;
  port: number;
}
