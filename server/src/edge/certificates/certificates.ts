import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Db } from '../../core/db.ts';
import { declareKey, loadKey } from '../../core/keys.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { seal, sealingKey } from '../../core/seal.ts';
import {
  type AcmeConfig,
  type CertificateAuthority,
  OrderError,
  type OrderErrorReason,
  openAcmeAuthority,
} from '../../drivers/certificates/acme.ts';
import { type CertificateState, type DomainCertificates, noCertificates } from '../domains/domain-record.ts';
import { checkSoon, findDomainToCertify } from '../domains/domains.ts';
import {
  type CertificateRow,
  certificateKey,
  certificatesTag,
  claimDueOrder,
  type DueOrder,
  deleteExpiredChallenges,
  findCertificate,
  findChallenge,
  nextTryAt,
  pauseAuthority,
  pauseForAll,
  renewAt,
  requestCertificate,
  rescheduleOrder,
  saveChallenge,
  saveFailure,
  saveIssued,
} from './store.ts';

interface OrderDeps {
  db: Db;
  log: Logger;
  authority: CertificateAuthority;
  /** A function, because the operator needs the effects, which need the certificates. */
  operator: () => OperatorDeps;
}

/** A disconnected host needs no certificate now, but may be connected again. */
const idleMs = 3600_000;

/** The caller holds the order's lease. Every outcome sets when the next order is due. */
async function orderCertificate(deps: OrderDeps, order: DueOrder, signal: AbortSignal): Promise<void> {
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

export interface CertificateService {
  certificates: DomainCertificates;
  order: EffectHandler;
  runDueOrders(): Promise<void>;
  stop(): Promise<void>;
}

export async function createCertificates(
  acme: AcmeConfig | null,
  deps: { db: Db; log: Logger; operator: () => OperatorDeps },
): Promise<CertificateService> {
  const { db } = deps;
  if (!acme) {
    const nothing = async () => {};
    return { certificates: noCertificates, order: nothing, runDueOrders: nothing, stop: nothing };
  }
  const authority = openAcmeAuthority({
    directory: acme.directory,
    email: acme.email ?? undefined,
    trusted: acme.caFile === null ? undefined : readFileSync(acme.caFile, 'utf8'),
    accountKey: async () => (await loadKey(db, acmeAccountKey)).current(),
  });
  const orderQueue = createOrderQueue({ ...deps, authority });
  return {
    certificates: {
      isOn: true,
      stateOf: async (tx, { id }) => certificateState(await findCertificate(tx, id)),
    },
    async order({ domainId }) {
      const domain = await findDomainToCertify(db, String(domainId));
      if (domain) await requestCertificate(db, { ...domain, domainId: String(domainId) });
      orderQueue.wake();
    },
    async runDueOrders() {
      await deleteExpiredChallenges(db);
      orderQueue.wake();
    },
    stop: orderQueue.stop,
  };
}

const concurrentMax = 3;

/** Orders run beside the outbox, because an authority may take minutes to answer. */
export function createOrderQueue(deps: OrderDeps) {
  const stopped = new AbortController();
  const running = new Set<Promise<void>>();

  async function processDueOrders(): Promise<void> {
    try {
      while (!stopped.signal.aborted) {
        const order = await claimDueOrder(deps.db, deps.authority.name);
        if (!order) return;
        wake();
        await orderCertificate(deps, order, stopped.signal);
      }
    } catch (error) {
      // The lease expires, and the next run claims the order again.
      deps.log.error({ err: error }, 'certificate order failed');
    }
  }

  function wake(): void {
    if (stopped.signal.aborted || running.size >= concurrentMax) return;
    const run: Promise<void> = processDueOrders().finally(() => running.delete(run));
    running.add(run);
  }

  return {
    wake,
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
    async stop() {
      stopped.abort();
      await Promise.all(running);
    },
  };
}

export const acmeAccountKey = declareKey({
  name: 'acme.account_key',
  protects: 'The account at the certificate authority',
  create: () =>
    generateKeyPairSync('ec', { namedCurve: 'P-256' })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString(),
  acceptedSeconds: 3600,
});

export function certificateState(row: CertificateRow | null): CertificateState {
  if (row?.notAfter && !row.isExpired) return { state: 'ok' };
  if (row?.isExpired)
    return {
      state: 'failed',
      reason: 'expired',
      detail: `Expired at ${row.notAfter?.toISOString()}.${failureDetail(row)}`,
    };
  if (!row?.failureReason) return { state: 'waiting' };
  const reason = row.failureReason === 'caa_forbids' ? 'caa_forbids' : 'order_failed';
  return { state: 'failed', reason, detail: failureDetail(row).trim() };
}

const failureTexts: Readonly<Record<OrderErrorReason, string>> = {
  authority_unreachable: 'The certificate authority cannot be reached',
  authority_error: 'The certificate authority reported an error',
  rate_limited: 'The rate limit of the certificate authority is exceeded',
  host_refused: 'The certificate authority does not issue certificates for this host',
  caa_forbids: 'A CAA record forbids the certificate authority to issue a certificate',
  challenge_failed: 'The certificate authority could not reach this server at the host',
};

function failureDetail({ failureReason, failureText, nextTryAt, isOrdering }: CertificateRow): string {
  if (!failureReason) return '';
  const next = isOrdering ? 'A retry is running.' : `Next attempt at ${nextTryAt.toISOString()}.`;
  return ` ${failureTexts[failureReason]}: ${failureText ?? ''} ${next}`;
}

export const challengePrefix = '/.well-known/acme-challenge/';

export type ChallengeLookup = (token: string) => Promise<string | null>;

export function createChallengeLookup({ db }: { db: Db }): ChallengeLookup {
  // The endpoint is public: text that cannot be a token is not looked up.
  return async (token) => (/^[A-Za-z0-9_-]{16,256}$/.test(token) ? await findChallenge(db, token) : null);
}
