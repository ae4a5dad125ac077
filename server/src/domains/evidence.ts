import { challengeLabel } from '@svc/contract/domains.ts';
import type { CaaRecord, DnsRoute, Found } from '../drivers/dns/dns.ts';
import type { Db } from '../plumbing/db.ts';
import type { DomainsPlace } from './domains-place.ts';
import { databaseTime } from './store.ts';

/** What the name servers of a host say now: looked up outside of any transaction, judged inside one. */
export interface Evidence {
  /** Nothing in it is older. */
  begunAt: Date;
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
  db: Db,
  place: DomainsPlace,
  { host, subdomain }: { host: string; subdomain: string | null },
): Promise<Evidence> {
  const { dns, certificates, caaId, target, appsDomain } = place;
  const targets = [target, ...(subdomain === null ? [] : [`${subdomain}.${appsDomain}`])];
  const begunAt = await databaseTime(db);
  const look = dns.look();
  const [txt, route, caa, addresses] = await Promise.all([
    look.txt(`${challengeLabel}.${host}`),
    look.route(host, (alias) => targets.includes(alias)),
    certificates.isOn && caaId !== null ? look.caa(host) : null,
    place.addresses(),
  ]);
  return { begunAt, txt, route, caa, addresses, targets };
}
