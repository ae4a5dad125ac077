import { type ActiveHost, domainsTag } from '../domains/list-active-hosts.ts';
import type { Invalidation } from '../plumbing/invalidation.ts';

/** Which custom domains are served: all of them in memory, since each request to the platform asks. */
export interface ActiveHosts {
  /** As last heard; the next load tells. */
  has(host: string): boolean;
  /** For certain: read anew where a change was heard, or where changes can not be heard. */
  appAt(host: string): Promise<string | null>;
  /** From here on it is also read by the clock, until `stop`. */
  load(): Promise<void>;
  stop(): void;
}

/** Bounds what a missed message can cost. */
const keptMsMax = 30_000;
/** After a look that failed; each further one that fails doubles it, up to the above. */
const retryMs = 500;

export function createActiveHosts(options: {
  list: () => Promise<readonly ActiveHost[]>;
  invalidation: Pick<Invalidation, 'isLive' | 'onChange'>;
  onError: (error: unknown) => void;
  /** Runs something later, and gives back what prevents it. */
  later?: (run: () => void, ms: number) => () => void;
}): ActiveHosts {
  const { invalidation, later = laterByTimer } = options;
  let hosts: ReadonlyMap<string, string> = new Map();
  let epoch = 0;
  let readAt: { epoch: number; ms: number } | null = null;
  let loading: { epoch: number; result: Promise<void> } | null = null;
  let pauseMs = retryMs;
  let forgetNext = () => {};
  let isStopped = false;

  invalidation.onChange((tag) => {
    if (tag !== null && tag !== domainsTag) return;
    epoch++;
    // Not only when somebody asks: a name that is not known yet is not asked for by name.
    load().catch(options.onError);
  });

  async function read(begun: number): Promise<void> {
    const found = await options.list();
    if (readAt && readAt.epoch > begun) return;
    hosts = new Map(found.map(({ host, appId }) => [host, appId]));
    readAt = { epoch: begun, ms: performance.now() };
  }

  function load(): Promise<void> {
    if (loading?.epoch === epoch) return loading.result;
    const result = read(epoch)
      .then(
        () => {
          pauseMs = retryMs;
          readNext(keptMsMax);
        },
        (error: unknown) => {
          readNext(pauseMs);
          pauseMs = Math.min(2 * pauseMs, keptMsMax);
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
    forgetNext();
    if (!isStopped) forgetNext = later(() => load().catch(options.onError), ms);
  }

  const isFresh = () =>
    readAt?.epoch === epoch && invalidation.isLive() && performance.now() - readAt.ms < keptMsMax;

  return {
    has: (host) => hosts.has(host),
    async appAt(host) {
      if (!isFresh()) await load();
      return hosts.get(host) ?? null;
    },
    load,
    stop() {
      isStopped = true;
      forgetNext();
    },
  };
}

function laterByTimer(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  timer.unref();
  return () => clearTimeout(timer);
}
