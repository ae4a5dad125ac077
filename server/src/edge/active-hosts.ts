import { type ActiveHost, domainsTag } from '../domains/list-active-hosts.ts';
import type { Invalidation } from '../plumbing/invalidation.ts';

/** Which custom domains are served: all of them in memory, since each request to the platform asks. */
export interface ActiveHosts {
  /** As last heard; the next load tells. */
  has(host: string): boolean;
  /** For certain: read anew where a change was heard, or where changes can not be heard. */
  appAt(host: string): Promise<string | null>;
  load(): Promise<void>;
}

/** Bounds what a missed message can cost. */
const keptMsMax = 30_000;

export function createActiveHosts(options: {
  list: () => Promise<readonly ActiveHost[]>;
  invalidation: Pick<Invalidation, 'isLive' | 'onChange'>;
  onError: (error: unknown) => void;
}): ActiveHosts {
  const { invalidation } = options;
  let hosts: ReadonlyMap<string, string> = new Map();
  let epoch = 0;
  let readAt: { epoch: number; ms: number } | null = null;
  let loading: { epoch: number; result: Promise<void> } | null = null;

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
    const result = read(epoch).finally(() => {
      if (loading?.result === result) loading = null;
    });
    loading = { epoch, result };
    return result;
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
  };
}
