import { isIP } from 'node:net';
import { edgeLabel } from '@svc/contract/domains.ts';
import type { Dns } from '../../drivers/dns/dns.ts';
import type { DomainCertificates } from './domain-record.ts';

/** The HTTPS origin of a host; null if no certificate covers it. */
export type SecureOrigin = (domain: { host: string; hasCertificate: boolean }) => string | null;

export interface DomainsConfig {
  dns: Dns;
  certificates: DomainCertificates;
  baseUrl: string;
  secureOrigin: SecureOrigin;
  appsDomain: string;
  /** Target of CNAME records. Independent of the app's subdomain, which may change. */
  target: string;
  /** Values of A and AAAA records; empty if unknown. */
  addresses: () => Promise<readonly string[]>;
  /** The certificate authority's name in CAA records; null: CAA is not checked. */
  caaId: string | null;
}

export interface DomainsOptions extends Omit<DomainsConfig, 'target' | 'addresses'> {
  /** The address that the server listens on. */
  host: string;
  edgeAddresses: readonly string[] | null;
}

const cachedMs = 300_000;
const unknownCachedMs = 30_000;

export function openDomainsConfig(options: DomainsOptions): DomainsConfig {
  const { dns, certificates, baseUrl, secureOrigin, appsDomain, caaId } = options;
  const target = `${edgeLabel}.${appsDomain}`;
  const fixed = options.edgeAddresses ?? (isSiteAddress(options) ? [options.host] : null);
  const addresses = fixed ? async () => fixed : cacheAddresses(() => resolveAddresses(dns, target));
  return { dns, certificates, baseUrl, secureOrigin, appsDomain, target, addresses, caaId };
}

/** A wildcard address does not show the public address. A loopback address means that a proxy is in front. */
function isSiteAddress({ host, appsDomain }: DomainsOptions): boolean {
  if (isIP(host) === 0 || host === '0.0.0.0' || host === '::') return false;
  const isLoopback = host.startsWith('127.') || host === '::1';
  return !isLoopback || /(^|\.)localhost$/.test(appsDomain);
}

async function resolveAddresses(dns: Dns, name: string): Promise<readonly string[] | null> {
  const { addresses } = await dns.startLookup().route(name, () => false);
  return addresses.kind === 'found' ? addresses.values : null;
}

function cacheAddresses(find: () => Promise<readonly string[] | null>): () => Promise<readonly string[]> {
  let last: { found: Promise<readonly string[] | null>; until: number } | null = null;
  return async () => {
    if (last === null || last.until < performance.now()) {
      const fresh = { found: find(), until: performance.now() + cachedMs };
      last = fresh;
      if ((await fresh.found) === null) fresh.until = performance.now() + unknownCachedMs;
    }
    return (await last.found) ?? [];
  };
}
