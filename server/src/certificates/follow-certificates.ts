import type { Logger } from 'pino';
import { domainsTag } from '../domains/list-active-hosts.ts';
import type { HostCertificate, HttpsListener, TlsPair } from '../plumbing/https-listener.ts';
import type { Invalidation } from '../plumbing/invalidation.ts';
import { certificatesTag } from './tag.ts';

/** Whatever was missed, and what the operator has renewed, is seen after this time. */
const anewMs = 60_000;
const pauseMsMin = 100;
/** A long list takes its time: no more than a tenth of all time goes into it. */
const pauseFactor = 10;
/**
 * A change holds up everybody, the more certificates there are: what is renewed waits for more, since what it replaces
 * is still good. A host that is new or gone does not.
 */
const collectMsMax = 2_000;

type When = 'now' | 'collected';

/** Keeps a listener showing what certificates there are, in every copy of the server. */
export async function followCertificates(parts: {
  listener: Pick<HttpsListener, 'use'> & { readOwn(): TlsPair };
  load: () => Promise<HostCertificate[]>;
  invalidation: Pick<Invalidation, 'onChange'>;
  log: Logger;
  /** For tests. */
  collectMs?: number;
}): Promise<{ stop(): void }> {
  const { listener, load, log, collectMs = collectMsMax } = parts;
  let isStopped = false;
  let isRunning = false;
  let wanted: When | null = null;
  let collecting: Timer | null = null;
  /** Certificates by host. */
  let shown: ReadonlyMap<string, string> = new Map();

  function collected(): void {
    collecting = null;
    void follow('now');
  }

  async function show(when: When): Promise<void> {
    const certificates = await load();
    if (isStopped) return;
    const next = new Map(certificates.map(({ serverName, cert }) => [serverName, cert]));
    const isOfSameHosts = shown.size === next.size && shown.keys().every((host) => next.has(host));
    if (when === 'collected' && isOfSameHosts) {
      if (next.entries().some(([host, cert]) => shown.get(host) !== cert))
        collecting ??= setTimeout(collected, collectMs);
      return;
    }
    if (collecting) clearTimeout(collecting);
    collecting = null;
    listener.use(certificates, listener.readOwn());
    shown = next;
  }

  async function follow(when: When): Promise<void> {
    if (wanted !== 'now') wanted = when;
    if (isRunning) return;
    isRunning = true;
    while (wanted && !isStopped) {
      const how: When = wanted;
      wanted = null;
      const begun = performance.now();
      // What is shown stays; the next round tries again.
      await show(how).catch((error: unknown) =>
        log.error({ err: error }, 'certificates could not be renewed'),
      );
      await Bun.sleep(Math.max(pauseMsMin, (performance.now() - begun) * pauseFactor));
    }
    isRunning = false;
  }

  await show('now');
  parts.invalidation.onChange((tag) => {
    if (tag === null || tag === certificatesTag || tag === domainsTag) void follow('collected');
  });
  const timer = setInterval(() => void follow('now'), anewMs);
  return {
    stop() {
      isStopped = true;
      clearInterval(timer);
      if (collecting) clearTimeout(collecting);
    },
  };
}
