import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { AcmeConfig } from '../config.ts';
import { type DomainCertificates, noCertificates } from '../domains/domain-certificates.ts';
import { findDomainToCertify } from '../domains/find-domain-to-certify.ts';
import { openAcmeAuthority } from '../drivers/certificates/acme-authority.ts';
import type { Db } from '../plumbing/db.ts';
import { keptKey } from '../plumbing/kept-key.ts';
import type { OperatorParts } from '../plumbing/operator.ts';
import type { Effect } from '../plumbing/outbox.ts';
import { accountKey } from './account-key.ts';
import { certificateState } from './certificate-state.ts';
import { createOrdering } from './create-ordering.ts';
import { findCertificate, forgetChallenges, wantCertificate } from './store.ts';

export interface CertificatesPlace {
  /** For the domains. */
  certificates: DomainCertificates;
  /** Carries out `certificates.order`: notes that one is wanted, and leaves the rest to whoever orders. */
  order: Effect;
  /** By the clock: what is due, such as renewals. */
  sweep(): Promise<void>;
  stop(): Promise<void>;
}

export async function createCertificates(
  acme: AcmeConfig | null,
  parts: { db: Db; log: Logger; operator: () => OperatorParts },
): Promise<CertificatesPlace> {
  const { db } = parts;
  if (!acme) {
    const nothing = async () => {};
    return { certificates: noCertificates, order: nothing, sweep: nothing, stop: nothing };
  }
  const authority = openAcmeAuthority({
    directory: acme.directory,
    email: acme.email ?? undefined,
    trusted: acme.caFile === null ? undefined : readFileSync(acme.caFile, 'utf8'),
    accountKey: await keptKey(db, 'acme.account_key', accountKey),
  });
  const ordering = createOrdering({ ...parts, authority });
  return {
    certificates: {
      isOn: true,
      stateOf: async (tx, { id }) => certificateState(await findCertificate(tx, id)),
    },
    async order({ domainId }) {
      const domain = await findDomainToCertify(db, String(domainId));
      if (domain) await wantCertificate(db, { ...domain, domainId: String(domainId) });
      ordering.wake();
    },
    async sweep() {
      await forgetChallenges(db);
      ordering.wake();
    },
    stop: ordering.stop,
  };
}
