import type { Db } from '../plumbing/db.ts';

/** What domains need to know of certificates; the slice that orders and keeps them supplies it. */
export interface DomainCertificates {
  /** Where they are not ordered here, a domain does without one. */
  isOn: boolean;
  stateOf(db: Db, domain: { id: string; host: string }): Promise<CertificateState>;
}

export type CertificateState =
  | { state: 'ok' }
  /** None yet: ordered, or to be. */
  | { state: 'waiting' }
  /** `expired`: there was one, and it could not be renewed in time. `detail` is for people. */
  | { state: 'failed'; reason: 'expired' | 'order_failed' | 'caa_forbids'; detail: string };

/** What orders one, queued with `{ domainId }` where ownership and routing are right and there is none. */
export const orderTopic = 'certificates.order';

export const noCertificates: DomainCertificates = { isOn: false, stateOf: async () => ({ state: 'ok' }) };
