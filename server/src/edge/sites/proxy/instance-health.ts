import type { Invalidation } from '../../../core/invalidation.ts';
import { domainsTag } from '../../domains/domain-record.ts';

const checkedMs = 1_000;
const checkedMax = 10_000;
/** How long an address that did not answer at all is left out: each attempt takes the whole time limit. */
const silentMs = 2_000;

/** Checks that an address accepts connections before a request is sent, because a body can be sent only once. */
export function createReachable({ connectMs }: { connectMs: number }) {
  const checked = new Map<string, number>();
  const silent = new Map<string, number>();

  function note(address: string): void {
    if (checked.size >= checkedMax) checked.clear();
    checked.set(address, performance.now());
  }

  return {
    note,
    forget: (address: string) => void checked.delete(address),
    async check(address: string, how: 'lately' | 'now'): Promise<boolean> {
      const at = checked.get(address);
      if (how === 'lately' && at !== undefined && performance.now() - at < checkedMs) return true;
      if (performance.now() - (silent.get(address) ?? Number.NEGATIVE_INFINITY) < silentMs) return false;
      const answer = await connects(address, connectMs);
      if (answer === 'none') {
        if (silent.size >= checkedMax) silent.clear();
        silent.set(address, performance.now());
      } else silent.delete(address);
      if (answer === 'open') note(address);
      else checked.delete(address);
      return answer === 'open';
    },
  };
}

/** `none`: as of a machine that is gone. */
async function connects(address: string, ms: number): Promise<'open' | 'refused' | 'none'> {
  const url = URL.parse(`http://${address}`);
  if (!url) return 'refused';
  const end = Promise.withResolvers<'open' | 'refused' | 'none'>();
  const timer = setTimeout(() => end.resolve('none'), ms);
  Bun.connect({
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || 80),
    socket: {
      open(socket) {
        end.resolve('open');
        socket.end();
      },
      connectError: () => end.resolve('refused'),
      data: () => {},
    },
  }).catch(() => end.resolve('refused'));
  try {
    return await end.promise;
  } finally {
    clearTimeout(timer);
  }
}

/** Stands for all credentials: it is not known here which ones a visit depends on. */
export const anyCredential = 'credential:';
const tagsMax = 10_000;

export function createRecentChanges(invalidation: Pick<Invalidation, 'onChange'>) {
  const changedAt = new Map<string, number>();
  let now = 0;
  let floor = 0;
  invalidation.onChange((tag) => {
    // Other tags, such as those of logs and queues, change many times a second and do not matter here.
    const key = tag?.startsWith(anyCredential) ? anyCredential : tag;
    if (key === null || key === domainsTag || changedAt.size >= tagsMax) {
      changedAt.clear();
      floor = ++now;
    } else if (key === anyCredential || key.startsWith('app:') || key.startsWith('user:'))
      changedAt.set(key, ++now);
  });
  return {
    /** Must be read before the lookup that it guards. */
    now: () => now,
    since: (then: number, tags: readonly string[]) =>
      floor > then || tags.some((tag) => (changedAt.get(tag) ?? 0) > then),
  };
}
