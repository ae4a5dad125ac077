import type { Logger } from 'pino';
import type { Db } from '../../core/db.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import { seal, sealingKey } from '../../core/seal.ts';
import { type CertificateAuthority, OrderError } from '../../drivers/certificates/acme.ts';
import { checkSoon, findDomainToCertify } from '../domains/hosts.ts';
import { certificateKey, certificatesTag, nextTryAt, pauseForAll, renewAt } from './rules.ts';
import {
  type DueOrder,
  pauseAuthority,
  rescheduleOrder,
  saveChallenge,
  saveFailure,
  saveIssued,
} from './store.ts';

export interface OrderDeps {
  db: Db;
  log: Logger;
  authority: CertificateAuthority;
  /** A function, because the operator needs the effects, which need the certificates. */
  operator: () => OperatorDeps;
}

/** A disconnected host needs no certificate now, but may be connected again. */
const idleMs = 3600_000;

/** The caller holds the order's lease. Every outcome sets when the next order is due. */
export async function orderCertificate(deps: OrderDeps, order: DueOrder, signal: AbortSignal): Promise<void> {
  const { db, log } = deps;
  if (signal.aborted) return rescheduleOrder(db, order, new Date());
  const domain = await findDomainToCertify(db, order.domainId);
  if (!domain || domain.status === 'disconnected')
    return rescheduleOrder(db, order, new Date(Date.now() + idleMs));
  try {
    const issued = await deps.authority.order({
      host: order.host,
      publish: (challenge) => saveChallenge(db, { ...challenge, host: order.host }),
      signal,
    });
    const key = await sealingKey(db, certificateKey);
    const keySealed = seal(key, { text: issued.key, boundTo: order.domainId });
    const change = { name: 'certificates.issue', auditTenantId: order.tenantId };
    const isSaved = await runAsOperator(deps.operator(), change, async (ctx) => {
      const row = { ...issued, keySealed, renewAt: renewAt(issued, Math.random()) };
      if (!(await saveIssued(ctx.db, order, row))) return false;
      ctx.invalidate(certificatesTag);
      ctx.audit({
        action: 'certificates.issue',
        appId: domain.appId,
        target: { kind: 'domain', id: order.domainId, name: order.host },
        before: { certificate_not_after: order.notAfter?.toISOString() ?? null },
        after: { certificate_not_after: issued.notAfter.toISOString() },
      });
      return true;
    });
    if (!isSaved) return;
    log.info({ host: order.host, not_after: issued.notAfter }, 'certificate issued');
    await checkSoon(db, order);
  } catch (error) {
    if (signal.aborted) return rescheduleOrder(db, order, new Date());
    if (!(error instanceof OrderError)) throw error;
    const attempt = { now: new Date(), failures: order.failures + 1, notAfter: order.notAfter };
    const { reason, retryAt, message } = error;
    const { at, pausedUntil } = nextTryAt({ ...attempt, reason, retryAt });
    log.warn({ host: order.host, reason, detail: message, next_try_at: at }, 'certificate order failed');
    if (pausedUntil) await pauseAuthority(db, deps.authority.name, pauseForAll(attempt.now, pausedUntil));
    await saveFailure(db, order, { reason, text: message, nextTryAt: at, pausedUntil });
  }
}
