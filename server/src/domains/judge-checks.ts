import { challengeLabel, challengePrefix } from '@svc/contract/domains.ts';
import type { CaaRecord, DnsTrouble } from '../drivers/dns/dns.ts';
import type { CertificateState } from './domain-certificates.ts';
import type { Evidence } from './evidence.ts';
import type { Check, DomainRow } from './store.ts';

/** What a look-up says about a domain: each thing that has to be right, with what was expected and what was found. */
export interface Checks {
  ownership: Check;
  routing: Check;
}

type Judged = Pick<DomainRow, 'host' | 'token' | 'status' | 'ownership' | 'routing'>;

const foundMax = 10;
const foundCharsMax = 300;

export const challengeName = (host: string) => `${challengeLabel}.${host}`;
export const challengeValue = ({ token }: Pick<DomainRow, 'token'>) => challengePrefix + token;

export function notChecked(expected: string): Check {
  return {
    ...{ state: 'waiting', reason: 'not_checked', expected, found: [] },
    next_step: 'Publish the records, then verify.',
  };
}

export function judgeOwnership({ txt }: Evidence, row: Judged): Check {
  const name = challengeName(row.host);
  const expected = ownershipExpected(row);
  switch (txt.kind) {
    case 'unknown':
      return unknown(row, row.ownership, { expected, name, because: txt.because });
    case 'none':
      return {
        ...{ state: 'failed', reason: 'missing', expected, found: [] },
        next_step: `Publish a TXT record at ${name} with the value ${challengeValue(row)}.`,
      };
    case 'found': {
      if (txt.values.includes(challengeValue(row))) return right(expected, [challengeValue(row)]);
      return {
        ...{ state: 'failed', reason: 'mismatch', expected, found: shown(txt.values) },
        next_step: `Add a TXT record at ${name} with the value ${challengeValue(row)}; others there may stay.`,
      };
    }
  }
}

export function judgeRouting({ route, addresses, targets }: Evidence, row: Judged): Check {
  const [target = ''] = targets;
  const expected = routingExpected(row.host, target, addresses);
  const found = foundAt(route);
  if (route.aliases.some((alias) => targets.includes(alias))) return right(expected, shown(found));
  if (route.addresses.kind === 'unknown')
    return unknown(row, row.routing, {
      expected,
      name: route.aliases.at(-1) ?? row.host,
      because: route.addresses.because,
    });
  const values = route.addresses.kind === 'found' ? route.addresses.values : [];
  const own = new Set(addresses.map(sameForm));
  const foreign = values.filter((address) => !own.has(sameForm(address)));
  if (values.length > 0 && foreign.length === 0) return right(expected, shown(found));
  const how = `publish ${expected}`;
  if (found.length === 0)
    return { ...{ state: 'failed', reason: 'missing', expected, found: [] }, next_step: capital(`${how}.`) };
  const instead =
    foreign.length > 0 && foreign.length < values.length ? 'Remove the other addresses, or' : '';
  return {
    ...{ state: 'failed', reason: 'mismatch', expected, found: shown(found) },
    next_step: `${capital(`${instead} ${how}`.trim())}. What was published before may be remembered for as long as its TTL says.`,
  };
}

const noneMade = 'None is made here: HTTPS is up to what stands in front of this server.';

/** `state` is what is known of its certificate; null where none are ordered here. */
export function judgeCertificate(
  { caa }: Pick<Evidence, 'caa'>,
  {
    host,
    checks,
    state,
    caaId,
  }: { host: string; checks: Checks; state: CertificateState | null; caaId: string | null },
): Check {
  const expected = state === null ? '' : `A certificate for ${host}`;
  if (state === null) return { ...right(expected, []), reason: 'not_configured', next_step: noneMade };
  if (state.state === 'ok') return right(expected, []);
  if (caa?.kind === 'found' && isForbidden({ caa }, caaId)) {
    return {
      ...{ state: 'failed', reason: 'caa_forbids', expected: `CAA ${host} 0 issue "${caaId}"` },
      found: shown(caa.values.map(({ tag, value }) => `CAA ${tag} "${value}"`)),
      next_step: `Add a CAA record that allows ${caaId}, or remove those that do not.`,
    };
  }
  if (state.state === 'failed') {
    return {
      ...{ state: 'failed', reason: state.reason, expected, found: shown([state.detail]) },
      next_step: 'It is ordered again by itself; verify shows how that went.',
    };
  }
  if (checks.ownership.state !== 'ok' || checks.routing.state !== 'ok')
    return {
      ...{ state: 'waiting', reason: 'not_ordered', expected, found: [] },
      next_step: 'It is ordered as soon as the records are right.',
    };
  return {
    ...{ state: 'waiting', reason: 'ordered', expected, found: [] },
    next_step: 'It is being issued; that takes a minute or so.',
  };
}

/** By what the zone says of who may issue; where that is not known, nothing is forbidden. */
export function isForbidden({ caa }: Pick<Evidence, 'caa'>, caaId: string | null): boolean {
  return caaId !== null && caa?.kind === 'found' && !isAllowed(caa.values, caaId);
}

export function ownershipExpected(row: Pick<DomainRow, 'host' | 'token'>): string {
  return `TXT ${challengeName(row.host)} "${challengeValue(row)}"`;
}

export function routingExpected(host: string, target: string, addresses: readonly string[]): string {
  const direct = addresses.map((address) => `${typeOf(address)} ${host} ${address}`);
  return [`CNAME ${host} ${target}`, ...(direct.length > 0 ? [direct.join(' and ')] : [])].join(', or ');
}

export const typeOf = (address: string) => (address.includes(':') ? ('AAAA' as const) : ('A' as const));

/** Nobody could say: what was right stays so, and of one that is served all stays as it was. */
function unknown(
  { status }: Judged,
  before: Check,
  asked: { expected: string; name: string; because: DnsTrouble },
): Check {
  if (before.state === 'ok' || status === 'active') return before;
  const { expected, name, because } = asked;
  return {
    ...{ state: 'waiting', reason: 'dns_unavailable', expected, found: [] },
    next_step: `The name servers of ${name} could not be asked (${because}); it is tried again by itself.`,
  };
}

function right(expected: string, found: string[]): Check {
  return { state: 'ok', reason: null, expected, found, next_step: '' };
}

function foundAt({ aliases, addresses }: Evidence['route']): string[] {
  const values = addresses.kind === 'found' ? addresses.values : [];
  return [...aliases.map((alias) => `CNAME ${alias}`), ...values.map((it) => `${typeOf(it)} ${it}`)];
}

/** RFC 8659: where nothing is said of issuing, anybody may; what must be understood and is not, forbids. */
function isAllowed(records: readonly CaaRecord[], caaId: string): boolean {
  if (records.some(({ tag, isCritical }) => isCritical && !['issue', 'issuewild', 'iodef'].includes(tag)))
    return false;
  const issuers = records.filter(({ tag }) => tag === 'issue');
  return issuers.length === 0 || issuers.some(({ value }) => value.split(';')[0]?.trim() === caaId);
}

function shown(values: readonly string[]): string[] {
  return values.slice(0, foundMax).map((value) =>
    value
      .toWellFormed()
      .replace(/\p{Cc}/gu, '\ufffd')
      .slice(0, foundCharsMax),
  );
}

/** An IPv6 address has many spellings. */
function sameForm(address: string): string {
  return address.includes(':') ? (URL.parse(`http://[${address}]`)?.hostname ?? address) : address;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
