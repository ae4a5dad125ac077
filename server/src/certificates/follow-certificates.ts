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

/** Keeps a listener showing what certificates there are, in every copy of the server. */
export async function followCertificates(parts: {
  listener: Pick<HttpsListener, 'use'> & { readOwn(): TlsPair };
  load: () => Promise<HostCertificate[]>;
  invalidation: Pick<Invalidation, 'onChange'>;
  log: Logger;
}): Promise<{ stop(): void }> {
  const { listener, load, log } = parts;
  let isStopped = false;
  let isRunning = false;
  let isWanted = false;

  async function show(): Promise<void> {
    const certificates = await load();
    if (!isStopped) listener.use(certificates, listener.readOwn());
  }

  async function follow(): Promise<void> {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    while (isWanted && !isStopped) {
      isWanted = false;
      const begun = performance.now();
      // What is shown stays; the next round tries again.
      await show().catch((error: unknown) => log.error({ err: error }, 'certificates could not be renewed'));
      await Bun.sleep(Math.max(pauseMsMin, (performance.now() - begun) * pauseFactor));
    }
    isRunning = false;
  }

  await show();
  parts.invalidation.onChange((tag) => {
    if (tag === null || tag === certificatesTag || tag === domainsTag) void follow();
  });
  const timer = setInterval(() => void follow(), anewMs);
  return {
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
  };
}
