import { challengeLabel, challengePrefix } from '@svc/contract/domains.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import type { Db } from '../../core/db.ts';
import type { CaaRecord, DnsError, DnsResult, DnsRoute } from '../../drivers/dns/dns.ts';
import type { CertificateState, DomainsConfig } from './domain-record.ts';
import { type Check, type DomainRow, databaseTime } from './store.ts';

export interface Checks {
  ownership: Check;
  routing: Check;
}

type CheckedRow = Pick<DomainRow, 'host' | 'token' | 'status' | 'ownership' | 'routing'>;

const foundMax = 10;
const foundCharsMax = 300;

export const challengeName = (host: string) => `${challengeLabel}.${host}`;
export const challengeValue = ({ token }: Pick<DomainRow, 'token'>) => challengePrefix + token;

function check(
  state: 'waiting' | 'failed',
  reason: NonNullable<Check['reason']>,
  { expected, found = [], nextStep }: { expected: string; found?: readonly string[]; nextStep: string },
): Check {
  return { state, reason, expected, found: displayValues(found), next_step: nextStep };
}

export function pendingCheck(expected: string): Check {
  return check('waiting', 'not_checked', { expected, nextStep: 'Publish the records, then verify.' });
}

export function evaluateOwnership({ txt }: Evidence, row: CheckedRow): Check {
  const name = challengeName(row.host);
  const value = challengeValue(row);
  const expected = ownershipExpected(row);
  switch (txt.kind) {
    case 'unknown':
      return unknownCheck(row, row.ownership, { expected, name, reason: txt.reason });
    case 'none': {
      const nextStep = `Publish a TXT record at ${name} with the value ${value}.`;
      return check('failed', 'missing', { expected, nextStep });
    }
    case 'found': {
      if (txt.values.includes(value)) return okCheck(expected, [value]);
      const nextStep = `Add a TXT record at ${name} with the value ${value}. Other TXT records can stay.`;
      return check('failed', 'mismatch', { expected, found: txt.values, nextStep });
    }
  }
}

export function evaluateRouting({ route, addresses, targets }: Evidence, row: CheckedRow): Check {
  const [target = ''] = targets;
  const expected = routingExpected(row.host, target, addresses);
  const values = route.addresses.kind === 'found' ? route.addresses.values : [];
  const found = [
    ...route.aliases.map((alias) => `CNAME ${alias}`),
    ...values.map((it) => `${addressType(it)} ${it}`),
  ];
  if (route.aliases.some((alias) => targets.includes(alias))) return okCheck(expected, found);
  if (route.addresses.kind === 'unknown') {
    const name = route.aliases.at(-1) ?? row.host;
    return unknownCheck(row, row.routing, { expected, name, reason: route.addresses.reason });
  }
  const own = new Set(addresses.map(canonicalAddress));
  const foreign = values.filter((address) => !own.has(canonicalAddress(address)));
  if (values.length > 0 && foreign.length === 0) return okCheck(expected, found);
  if (found.length === 0) return check('failed', 'missing', { expected, nextStep: `Publish ${expected}.` });
  const isMixed = foreign.length > 0 && foreign.length < values.length;
  const action = isMixed ? 'Remove the other addresses, or publish' : 'Publish';
  const nextStep = `${action} ${expected}. Old records may be cached until their TTL ends.`;
  return check('failed', 'mismatch', { expected, found, nextStep });
}

const notManaged = 'This server issues no certificates: HTTPS is up to the proxy in front of it.';

export function evaluateCertificate(
  { caa }: Pick<Evidence, 'caa'>,
  input: { host: string; checks: Checks; state: CertificateState | null; caaId: string | null },
): Check {
  const { host, checks, state, caaId } = input;
  if (state === null) return { ...okCheck('', []), reason: 'not_configured', next_step: notManaged };
  const expected = `A certificate for ${host}`;
  if (state.state === 'ok') return okCheck(expected, []);
  if (caa?.kind === 'found' && isIssuanceForbidden({ caa }, caaId)) {
    return check('failed', 'caa_forbids', {
      expected: `CAA ${host} 0 issue "${caaId}"`,
      found: caa.values.map(({ tag, value }) => `CAA ${tag} "${value}"`),
      nextStep: `Add a CAA record that allows ${caaId}, or remove the CAA records that do not.`,
    });
  }
  if (state.state === 'failed') {
    const nextStep = 'The certificate is ordered again automatically. Verify the domain to see the result.';
    return check('failed', state.reason, { expected, found: [state.detail], nextStep });
  }
  if (checks.ownership.state !== 'ok' || checks.routing.state !== 'ok') {
    const nextStep = 'The certificate is ordered as soon as the records are right.';
    return check('waiting', 'not_ordered', { expected, nextStep });
  }
  const nextStep = 'The certificate is being issued, which takes about a minute.';
  return check('waiting', 'ordered', { expected, nextStep });
}

/** If the CAA records are unknown, nothing is forbidden: the authority checks them itself. */
export function isIssuanceForbidden({ caa }: Pick<Evidence, 'caa'>, caaId: string | null): boolean {
  return caaId !== null && caa?.kind === 'found' && !isAllowed(caa.values, caaId);
}

export function ownershipExpected(row: Pick<DomainRow, 'host' | 'token'>): string {
  return `TXT ${challengeName(row.host)} "${challengeValue(row)}"`;
}

export function routingExpected(host: string, target: string, addresses: readonly string[]): string {
  const direct = addresses.map((address) => `${addressType(address)} ${host} ${address}`);
  return [`CNAME ${host} ${target}`, ...(direct.length > 0 ? [direct.join(' and ')] : [])].join(', or ');
}

export const addressType = (address: string) => (address.includes(':') ? ('AAAA' as const) : ('A' as const));

/** A DNS failure changes nothing for an active domain, or for a check that was right. */
function unknownCheck(
  { status }: CheckedRow,
  before: Check,
  { expected, name, reason }: { expected: string; name: string; reason: DnsError },
): Check {
  if (before.state === 'ok' || status === 'active') return before;
  const nextStep = `The name servers of ${name} did not answer (${reason}). The check is repeated automatically.`;
  return check('waiting', 'dns_unavailable', { expected, nextStep });
}

function okCheck(expected: string, found: readonly string[]): Check {
  return { state: 'ok', reason: null, expected, found: displayValues(found), next_step: '' };
}

/** RFC 8659: without an issue property anybody may issue; an unknown critical property forbids it. */
function isAllowed(records: readonly CaaRecord[], caaId: string): boolean {
  if (records.some(({ tag, isCritical }) => isCritical && !['issue', 'issuewild', 'iodef'].includes(tag)))
    return false;
  const issuers = records.filter(({ tag }) => tag === 'issue');
  return issuers.length === 0 || issuers.some(({ value }) => value.split(';')[0]?.trim() === caaId);
}

function displayValues(values: readonly string[]): string[] {
  return values.slice(0, foundMax).map((value) =>
    value
      .toWellFormed()
      .replace(/\p{Cc}/gu, '\ufffd')
      .slice(0, foundCharsMax),
  );
}

/** Canonical form: an IPv6 address has many spellings. */
function canonicalAddress(address: string): string {
  return address.includes(':') ? (URL.parse(`http://[${address}]`)?.hostname ?? address) : address;
}

/** DNS results: looked up outside of a transaction, evaluated inside one. */
export interface Evidence {
  startedAt: Date;
  txt: DnsResult<string>;
  route: DnsRoute;
  caa: DnsResult<CaaRecord> | null;
  addresses: readonly string[];
  targets: readonly string[];
}

export async function gatherEvidence(
  { db }: { db: Db },
  config: DomainsConfig,
  { host, appId }: { host: string; appId: string },
): Promise<Evidence> {
  const { dns, certificates, caaId, target, appsDomain } = config;
  const app = await findAppById({ db }, { id: appId });
  const targets = app?.subdomain ? [target, `${app.subdomain}.${appsDomain}`] : [target];
  const startedAt = await databaseTime(db);
  const look = dns.startLookup();
  const [txt, route, caa, addresses] = await Promise.all([
    look.txt(challengeName(host)),
    look.route(host, (alias) => targets.includes(alias)),
    certificates.isOn && caaId !== null ? look.caa(host) : null,
    config.addresses(),
  ]);
  return { startedAt, txt, route, caa, addresses, targets };
}
