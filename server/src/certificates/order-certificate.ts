import type { Logger } from 'pino';
import { checkSoon } from '../domains/check-soon.ts';
import { findDomainToCertify } from '../domains/find-domain-to-certify.ts';
import { type CertificateAuthority, OrderFailure } from '../drivers/certificates/certificate-authority.ts';
import type { Db } from '../plumbing/db.ts';
import { asOperator, type OperatorParts } from '../plumbing/operator.ts';
import { seal, sealingKey } from '../plumbing/seal.ts';
import { heldForAll, nextTryAt, renewAt } from './rules.ts';
import { type DueOrder, holdAuthority, keepChallenge, keepFailure, keepIssued, putBack } from './store.ts';
import { certificatesTag, sealingKeyName } from './tag.ts';

export interface OrderParts {
  db: Db;
  log: Logger;
  authority: CertificateAuthority;
  /** Made after this, since effects are carried out with it. */
  operator: () => OperatorParts;
}

/** A host that is not served needs none; it may come back. */
const idleMs = 3600_000;

/** The order is this copy's alone, by its lease. However it ends, its row says when the next one is due. */
export async function orderCertificate(
  parts: OrderParts,
  order: DueOrder,
  signal: AbortSignal,
): Promise<void> {
  const { db, log } = parts;
  if (signal.aborted) return putBack(db, order, new Date());
  const domain = await findDomainToCertify(db, order.domainId);
  if (!domain || domain.status === 'disconnected') return putBack(db, order, new Date(Date.now() + idleMs));
  try {
    const issued = await parts.authority.order({
      host: order.host,
      publish: (challenge) => keepChallenge(db, { ...challenge, host: order.host }),
      signal,
    });
    const key = await sealingKey(db, sealingKeyName);
    const keySealed = seal(key, { text: issued.key, boundTo: order.domainId });
    const change = { name: 'certificates.issue', auditTenantId: order.tenantId };
    const isKept = await asOperator(parts.operator(), change, async (ctx) => {
      const row = { ...issued, keySealed, renewAt: renewAt(issued, Math.random()) };
      if (!(await keepIssued(ctx.db, order, row))) return false;
      ctx.changed(certificatesTag);
      ctx.audit({
        action: 'certificates.issue',
        appId: domain.appId,
        target: { kind: 'domain', id: order.domainId, name: order.host },
        before: { certificate_not_after: order.notAfter?.toISOString() ?? null },
        after: { certificate_not_after: issued.notAfter.toISOString() },
      });
      return true;
    });
    if (!isKept) return;
    log.info({ host: order.host, not_after: issued.notAfter }, 'a certificate was issued');
    await checkSoon(db, order);
  } catch (error) {
    if (signal.aborted) return putBack(db, order, new Date());
    if (!(error instanceof OrderFailure)) throw error;
    const tried = { now: new Date(), failures: order.failures + 1, notAfter: order.notAfter };
    const { reason, retryAt, message } = error;
    const { at, heldUntil } = nextTryAt({ ...tried, reason, retryAt });
    log.warn({ host: order.host, reason, next_try_at: at }, `no certificate: ${message}`);
    if (heldUntil)
      await holdAuthority(db, { authority: parts.authority.name, until: heldForAll(tried.now, heldUntil) });
    await keepFailure(db, order, { reason, text: message, nextTryAt: at, heldUntil });
  }
}
