import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { listActiveHosts } from '../domains/list-active-hosts.ts';
import type { Db } from '../plumbing/db.ts';
import type { HostCertificate } from '../plumbing/https-listener.ts';
import { sealingKey, unseal } from '../plumbing/seal.ts';
import { listKept, readKept } from './store.ts';
import { sealingKeyName } from './tag.ts';

/**
 * Every certificate that is served now: those of hosts that are active. What was opened once is kept, so that a change
 * of one does not cost the others' work again.
 */
export function createServedCertificates({
  db,
  log,
}: {
  db: Db;
  log: Logger;
}): () => Promise<HostCertificate[]> {
  let opened = new Map<string, HostCertificate | null>();

  return async () => {
    const active = new Set((await listActiveHosts(db)).map(({ host }) => host));
    // Of two for one host the newest counts: the other is left from an app that had the host before.
    const kept = new Map((await listKept(db)).map((row) => [row.host, row]));
    const wanted = [...kept.values()].filter(({ host }) => active.has(host));
    const nameOf = (row: { domainId: string; issuedAt: Date }) => `${row.domainId} ${row.issuedAt.getTime()}`;
    const fresh = wanted.filter((row) => !opened.has(nameOf(row)));
    const next = new Map(wanted.map((row) => [nameOf(row), opened.get(nameOf(row)) ?? null]));
    if (fresh.length > 0) {
      const key = await sealingKey(db, sealingKeyName);
      const hosts = new Map(fresh.map(({ domainId, host }) => [domainId, host]));
      for (const row of await readKept(db, [...hosts.keys()])) {
        const host = hosts.get(row.domainId);
        if (host !== undefined && next.has(nameOf(row))) next.set(nameOf(row), open(key, host, row));
      }
    }
    opened = next;
    return [...next.values()].filter((it) => it !== null);
  };

  /** One that can not be used must not keep the others from being served. */
  function open(
    key: Buffer,
    host: string,
    row: { domainId: string; chain: string; keySealed: Buffer },
  ): HostCertificate | null {
    try {
      const pem = unseal(key, { sealed: row.keySealed, boundTo: row.domainId });
      if (!new X509Certificate(row.chain).checkPrivateKey(createPrivateKey(pem)))
        throw new Error('The key is another one.');
      return { serverName: host, cert: row.chain, key: pem };
    } catch (error) {
      log.error({ err: error, host }, 'a certificate can not be used');
      return null;
    }
  }
}
