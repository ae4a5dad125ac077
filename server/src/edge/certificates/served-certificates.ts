import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import type { Db } from '../../core/db.ts';
import type { Invalidation } from '../../core/invalidation.ts';
import { type SealingKey, sealingKey, unseal } from '../../core/seal.ts';
import type { HostCertificate, HttpsListener, TlsKeyPair } from '../../http/https-listener.ts';
import { domainsTag } from '../domains/domain-record.ts';
import { listActiveHosts } from '../domains/domains.ts';
import { certificateKey, certificatesTag, listStoredCertificates, readStoredCertificates } from './store.ts';

/** Full reload, also for missed notifications and for files that the operator has renewed. */
const reloadMs = 60_000;
const pauseMsMin = 100;
/** Reloads take at most a tenth of the time. */
const pauseFactor = 10;
/** Renewals are batched, because setting certificates blocks the listener. Added and removed hosts are set at once. */
const batchMsMax = 2_000;

type StoredKey = Awaited<ReturnType<typeof readStoredCertificates>>[number];
type When = 'now' | 'batched';

export async function syncCertificates(deps: {
  listener: Pick<HttpsListener, 'setCertificates'> & { readOwn(): TlsKeyPair };
  load: () => Promise<HostCertificate[]>;
  invalidation: Pick<Invalidation, 'onChange'>;
  log: Logger;
  batchMs?: number;
}): Promise<{ stop(): void }> {
  const { listener, load, log, batchMs = batchMsMax } = deps;
  let isStopped = false;
  let isRunning = false;
  let pending: When | null = null;
  let batchTimer: Timer | null = null;
  let current: ReadonlyMap<string, string> = new Map();

  function onBatchEnd(): void {
    batchTimer = null;
    void reload('now');
  }

  async function apply(when: When): Promise<void> {
    const certificates = await load();
    if (isStopped) return;
    const next = new Map(certificates.map(({ serverName, cert }) => [serverName, cert]));
    const hasSameHosts = current.size === next.size && current.keys().every((host) => next.has(host));
    if (when === 'batched' && hasSameHosts) {
      if (next.entries().some(([host, cert]) => current.get(host) !== cert))
        batchTimer ??= setTimeout(onBatchEnd, batchMs);
      return;
    }
    if (batchTimer) clearTimeout(batchTimer);
    batchTimer = null;
    listener.setCertificates(certificates, listener.readOwn());
    current = next;
  }

  async function reload(when: When): Promise<void> {
    if (pending !== 'now') pending = when;
    if (isRunning) return;
    isRunning = true;
    while (pending && !isStopped) {
      const how: When = pending;
      pending = null;
      const startedAt = performance.now();
      // On failure the current certificates stay, and the next round tries again.
      await apply(how).catch((error: unknown) => log.error({ err: error }, 'certificate reload failed'));
      await Bun.sleep(Math.max(pauseMsMin, (performance.now() - startedAt) * pauseFactor));
    }
    isRunning = false;
  }

  await apply('now');
  deps.invalidation.onChange((tag) => {
    if (tag === null || tag === certificatesTag || tag === domainsTag) void reload('batched');
  });
  const timer = setInterval(() => void reload('now'), reloadMs);
  return {
    stop() {
      isStopped = true;
      clearInterval(timer);
      if (batchTimer) clearTimeout(batchTimer);
    },
  };
}

/** The certificates of all active hosts. Unsealed keys are cached, so that one change does not unseal all of them again. */
export function createCertificateLoader(deps: { db: Db; log: Logger }): () => Promise<HostCertificate[]> {
  const { db, log } = deps;
  let opened = new Map<string, HostCertificate | null>();

  return async () => {
    const active = new Set((await listActiveHosts(db)).map(({ host }) => host));
    // If a host has two certificates, the newest wins: the other one belongs to the app that had the host before.
    const stored = new Map((await listStoredCertificates(db)).map((row) => [row.host, row]));
    const served = [...stored.values()].filter(({ host }) => active.has(host));
    const nameOf = (row: { domainId: string; issuedAt: Date }) => `${row.domainId} ${row.issuedAt.getTime()}`;
    const fresh = served.filter((row) => !opened.has(nameOf(row)));
    const next = new Map(served.map((row) => [nameOf(row), opened.get(nameOf(row)) ?? null]));
    if (fresh.length > 0) {
      const key = await sealingKey(db, certificateKey);
      const hosts = new Map(fresh.map(({ domainId, host }) => [domainId, host]));
      for (const row of await readStoredCertificates(db, [...hosts.keys()])) {
        const host = hosts.get(row.domainId);
        if (host !== undefined && next.has(nameOf(row))) next.set(nameOf(row), open(key, host, row));
      }
    }
    opened = next;
    return [...next.values()].filter((it) => it !== null);
  };

  /** An unusable certificate must not prevent the others from being served. */
  function open(key: SealingKey, host: string, row: StoredKey): HostCertificate | null {
    try {
      const pem = unseal(key, { sealed: row.keySealed, boundTo: row.domainId });
      if (!new X509Certificate(row.chain).checkPrivateKey(createPrivateKey(pem)))
        throw new Error('The key does not match the certificate.');
      return { serverName: host, cert: row.chain, key: pem };
    } catch (error) {
      log.error({ err: error, host }, 'certificate unusable');
      return null;
    }
  }
}
