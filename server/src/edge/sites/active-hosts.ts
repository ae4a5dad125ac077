import { isIPv4 } from 'node:net';
import type { Invalidation } from '../../core/invalidation.ts';
import { domainsTag } from '../domains/domain-record.ts';
import type { ActiveHost } from '../domains/domains.ts';

/** All active custom domains in memory, because every request to the platform looks one up. */
export interface ActiveHosts {
  has(host: string): boolean;
  /** Reloads first if a change was announced or notifications are down. */
  appAt(host: string): Promise<string | null>;
  load(): Promise<void>;
  stop(): void;
}

const maxAgeMs = 30_000;
const retryMs = 500;

export function createActiveHosts(options: {
  list: () => Promise<readonly ActiveHost[]>;
  invalidation: Pick<Invalidation, 'isLive' | 'onChange'>;
  onError: (error: unknown) => void;
  later?: (run: () => void, ms: number) => () => void;
}): ActiveHosts {
  const { invalidation, later = delay } = options;
  let hosts: ReadonlyMap<string, string> = new Map();
  let epoch = 0;
  let readAt: { epoch: number; ms: number } | null = null;
  let loading: { epoch: number; result: Promise<void> } | null = null;
  let pauseMs = retryMs;
  let cancelNext = () => {};
  let isStopped = false;

  invalidation.onChange((tag) => {
    if (tag !== null && tag !== domainsTag) return;
    epoch++;
    load().catch(options.onError);
  });

  async function read(startEpoch: number): Promise<void> {
    const found = await options.list();
    if (readAt && readAt.epoch > startEpoch) return;
    hosts = new Map(found.map(({ host, appId }) => [host, appId]));
    readAt = { epoch: startEpoch, ms: performance.now() };
  }

  function load(): Promise<void> {
    if (loading?.epoch === epoch) return loading.result;
    const result = read(epoch)
      .then(
        () => {
          pauseMs = retryMs;
          readNext(maxAgeMs);
        },
        (error: unknown) => {
          readNext(pauseMs);
          pauseMs = Math.min(2 * pauseMs, maxAgeMs);
          throw error;
        },
      )
      .finally(() => {
        if (loading?.result === result) loading = null;
      });
    loading = { epoch, result };
    return result;
  }

  function readNext(ms: number): void {
    cancelNext();
    if (!isStopped) cancelNext = later(() => load().catch(options.onError), ms);
  }

  const isFresh = () =>
    readAt?.epoch === epoch && invalidation.isLive() && performance.now() - readAt.ms < maxAgeMs;

  return {
    has: (host) => hosts.has(host),
    async appAt(host) {
      if (!isFresh()) await load();
      return hosts.get(host) ?? null;
    },
    load,
    stop() {
      isStopped = true;
      cancelNext();
    },
  };
}

function delay(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  timer.unref();
  return () => clearTimeout(timer);
}

/** Own hosts, those of the operator, IP addresses and names without a dot; never the host of a removed site. */
export function createPlatformNames(options: {
  baseUrl: string;
  extraHosts: readonly string[];
  appsDomain: string;
}): (host: string) => boolean {
  const names = new Set([new URL(options.baseUrl).hostname, ...options.extraHosts]);
  return (host) =>
    names.has(host) ||
    (host !== options.appsDomain && (!host.includes('.') || host.startsWith('[') || isIPv4(host)));
}
