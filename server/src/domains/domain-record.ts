import type { SecureOrigin } from './domains-place.ts';
import { challengeName, challengeValue, typeOf } from './judge-checks.ts';
import { isApex, unicodeOf } from './parse-host.ts';
import type { DomainRecord } from './rules.ts';
import type { DomainRow } from './store.ts';

/** What a record says beside its row. */
export interface RecordPlace {
  baseUrl: string;
  secureOrigin: SecureOrigin;
  target: string;
  addresses: readonly string[];
}

export function domainRecord(row: DomainRow, place: RecordPlace): DomainRecord {
  return {
    id: row.id,
    app_id: row.app_id,
    host: row.host,
    host_unicode: unicodeOf(row.host),
    status: row.status,
    disconnected_for: row.disconnected_for,
    ownership: row.ownership,
    routing: row.routing,
    certificate: row.certificate,
    records: recordsOf(row, place),
    url: urlOf(row, place),
    created_at: row.created_at.toISOString(),
    verified_at: row.verified_at?.toISOString() ?? null,
    last_checked_at: row.last_checked_at?.toISOString() ?? null,
    next_check_at: row.next_check_at?.toISOString() ?? null,
    disconnected_at: row.disconnected_at?.toISOString() ?? null,
  };
}

/** A CNAME stays right when addresses change, but can not stand at the top of a zone. */
function recordsOf(row: DomainRow, { target, addresses }: RecordPlace): DomainRecord['records'] {
  const proof = { name: challengeName(row.host), value: challengeValue(row) };
  const routing =
    isApex(row.host) && addresses.length > 0
      ? addresses.map((value) => ({ type: typeOf(value), name: row.host, value }))
      : [{ type: 'CNAME' as const, name: row.host, value: target }];
  return [
    { ...proof, type: 'TXT', purpose: 'ownership' },
    ...routing.map((record) => ({ ...record, purpose: 'routing' as const })),
  ];
}

/** Plain where nobody has a certificate for it: behind an address that is HTTPS, at the port that is plain everywhere. */
function urlOf({ host, certificate }: DomainRow, { secureOrigin, baseUrl }: RecordPlace): string {
  const hasCertificate = certificate.state === 'ok' && certificate.reason === null;
  const { protocol, port } = new URL(baseUrl);
  const plain = new URL(`http://${host}:${protocol === 'http:' ? port : ''}`).origin;
  return `${secureOrigin({ host, hasCertificate }) ?? plain}/`;
}
