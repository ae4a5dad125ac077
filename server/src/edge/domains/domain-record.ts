import { isIP } from 'node:net';
import { domainToUnicode } from 'node:url';
import type { Domain } from '@svc/contract/domains.shapes.ts';
import { edgeLabel } from '@svc/contract/domains.ts';
import type { z } from 'zod';
import type { AppAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import type { Dns } from '../../drivers/dns/dns.ts';
import { addressType, challengeName, challengeValue } from './evaluate-checks.ts';
import { isApex } from './host-names.ts';
import type { DomainRow } from './store.ts';

/** The HTTPS origin of a host; null if no certificate covers it. */
type SecureOrigin = (domain: { host: string; hasCertificate: boolean }) => string | null;

export interface DomainsConfig {
  dns: Dns;
  certificates: DomainCertificates;
  baseUrl: string;
  secureOrigin: SecureOrigin;
  appsDomain: string;
  /** Target of CNAME records. Independent of the app's subdomain, which may change. */
  target: string;
  addresses: () => Promise<readonly string[]>;
  caaId: string | null;
}

interface DomainsOptions extends Omit<DomainsConfig, 'target' | 'addresses'> {
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

interface RecordConfig {
  baseUrl: string;
  secureOrigin: SecureOrigin;
  target: string;
  addresses: readonly string[];
}

export function domainRecord(row: DomainRow, config: RecordConfig): DomainRecord {
  return {
    id: row.id,
    app_id: row.app_id,
    host: row.host,
    host_unicode: domainToUnicode(row.host),
    status: row.status,
    disconnected_for: row.disconnected_for,
    ownership: row.ownership,
    routing: row.routing,
    certificate: row.certificate,
    records: dnsRecords(row, config),
    url: domainUrl(row, config),
    created_at: row.created_at.toISOString(),
    verified_at: row.verified_at?.toISOString() ?? null,
    last_checked_at: row.last_checked_at?.toISOString() ?? null,
    next_check_at: row.next_check_at?.toISOString() ?? null,
    disconnected_at: row.disconnected_at?.toISOString() ?? null,
  };
}

/** A CNAME survives a change of addresses, but is not allowed at the apex of a zone. */
function dnsRecords(row: DomainRow, { target, addresses }: RecordConfig): DomainRecord['records'] {
  const proof = { name: challengeName(row.host), value: challengeValue(row) };
  const routing =
    isApex(row.host) && addresses.length > 0
      ? addresses.map((value) => ({ type: addressType(value), name: row.host, value }))
      : [{ type: 'CNAME' as const, name: row.host, value: target }];
  return [
    { ...proof, type: 'TXT', purpose: 'ownership' },
    ...routing.map((record) => ({ ...record, purpose: 'routing' as const })),
  ];
}

/** HTTPS if there is a certificate. Otherwise HTTP, at the port of the base URL if that is HTTP too. */
function domainUrl({ host, certificate }: DomainRow, { secureOrigin, baseUrl }: RecordConfig): string {
  const hasCertificate = certificate.state === 'ok' && certificate.reason === null;
  const { protocol, port } = new URL(baseUrl);
  const plain = new URL(`http://${host}:${protocol === 'http:' ? port : ''}`).origin;
  return `${secureOrigin({ host, hasCertificate }) ?? plain}/`;
}

export type DomainRecord = z.output<typeof Domain>;

export function refuseArchived({ record }: Pick<AppAccess, 'record'>): void {
  if (record === 'archived')
    throw fail('app_not_active', { detail: 'The app is archived. Its domains are kept but not served.' });
}

/** Implemented by `certificates`, which imports this slice. */
export interface DomainCertificates {
  isOn: boolean;
  stateOf(db: Db, domain: { id: string; host: string }): Promise<CertificateState>;
}

export type CertificateState =
  | { state: 'ok' }
  | { state: 'waiting' }
  /** `expired`: the renewal failed. `detail` is shown to people. */
  | { state: 'failed'; reason: 'expired' | 'order_failed' | 'caa_forbids'; detail: string };

export const orderTopic = 'certificates.order';

export const noCertificates: DomainCertificates = { isOn: false, stateOf: async () => ({ state: 'ok' }) };

/** Invalidated when a host becomes active or stops being active. */
export const domainsTag = 'domains';
