import { challengeLabel } from '@svc/contract/domains.ts';
import type { CaaRecord, DnsRoute, Found } from '../drivers/dns/dns.ts';
import type { DomainsPlace } from './domains-place.ts';

/** What the name servers of a host say now: looked up outside of any transaction, judged inside one. */
export interface Evidence {
  /** All texts at the challenge: those of other claims to the same host stand there, too. */
  txt: Found<string>;
  route: DnsRoute;
  /** Null: not asked for. */
  caa: Found<CaaRecord> | null;
  /** Of the platform, at that time. */
  addresses: readonly string[];
  /** Names of the platform that an alias may lead to. */
  targets: readonly string[];
}

export async function gatherEvidence(
  place: DomainsPlace,
  { host, subdomain }: { host: string; subdomain: string | null },
): Promise<Evidence> {
  const { dns, certificates, caaId, target, appsDomain } = place;
  const targets = [target, ...(subdomain === null ? [] : [`${subdomain}.${appsDomain}`])];
  const look = dns.look();
  const [txt, route, caa, addresses] = await Promise.all([
    look.txt(`${challengeLabel}.${host}`),
    look.route(host, (alias) => targets.includes(alias)),
    certificates.isOn && caaId !== null ? look.caa(host) : null,
    place.addresses(),
  ]);
  return { txt, route, caa, addresses, targets };
}
