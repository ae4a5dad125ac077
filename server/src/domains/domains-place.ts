import { isIP } from 'node:net';
import { edgeLabel } from '@svc/contract/domains.ts';
import type { Dns } from '../drivers/dns/dns.ts';
import type { DomainCertificates } from './domain-certificates.ts';

/** Where a host is reached by HTTPS; null: there is no certificate for it, neither its own nor another. */
export type SecureOrigin = (domain: { host: string; hasCertificate: boolean }) => string | null;

/** Where domains have to lead, and whom to ask about it. */
export interface DomainsPlace {
  dns: Dns;
  certificates: DomainCertificates;
  baseUrl: string;
  secureOrigin: SecureOrigin;
  appsDomain: string;
  /** What a CNAME names; it stays whatever becomes of the app's own host. */
  target: string;
  /** What A and AAAA records may hold; empty where that is not known. */
  addresses: () => Promise<readonly string[]>;
  /** By what the certificate authority is named in CAA records; null: they are not looked at. */
  caaId: string | null;
}

export interface PlaceOptions {
  dns: Dns;
  certificates: DomainCertificates;
  baseUrl: string;
  secureOrigin: SecureOrigin;
  appsDomain: string;
  /** Where the server listens. */
  host: string;
  edgeAddresses: readonly string[] | null;
  caaId: string | null;
}

const keptMs = 300_000;
const unknownKeptMs = 30_000;

export function openDomainsPlace(options: PlaceOptions): DomainsPlace {
  const { dns, certificates, baseUrl, secureOrigin, appsDomain, caaId } = options;
  const target = `${edgeLabel}.${appsDomain}`;
  const told = options.edgeAddresses ?? (isWhereSitesAre(options) ? [options.host] : null);
  const addresses = told ? async () => told : kept(() => addressesOf(dns, target));
  return { dns, certificates, baseUrl, secureOrigin, appsDomain, target, addresses, caaId };
}

/** Listening on all addresses says nothing about which one leads here; on loopback, that a proxy is in front. */
function isWhereSitesAre({ host, appsDomain }: PlaceOptions): boolean {
  if (isIP(host) === 0 || host === '0.0.0.0' || host === '::') return false;
  const isLoopback = host.startsWith('127.') || host === '::1';
  return !isLoopback || /(^|\.)localhost$/.test(appsDomain);
}

async function addressesOf(dns: Dns, name: string): Promise<readonly string[] | null> {
  const { addresses } = await dns.look().route(name, () => false);
  return addresses.kind === 'found' ? addresses.values : null;
}

function kept(find: () => Promise<readonly string[] | null>): () => Promise<readonly string[]> {
  let last: { found: Promise<readonly string[] | null>; until: number } | null = null;
  return async () => {
    if (last === null || last.until < performance.now()) {
      const fresh = { found: find(), until: performance.now() + keptMs };
      last = fresh;
      if ((await fresh.found) === null) fresh.until = performance.now() + unknownKeptMs;
    }
    return (await last.found) ?? [];
  };
}
