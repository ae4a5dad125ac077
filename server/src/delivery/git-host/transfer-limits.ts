export function createConcurrencyLimit({ max, perKeyMax }: { max: number; perKeyMax: number }) {
  const inUse = new Map<string, number>();
  const waiting = new Set<() => void>();
  let total = 0;

  function tryAcquire(key: string): (() => void) | null {
    const own = inUse.get(key) ?? 0;
    if (total >= max || own >= perKeyMax) return null;
    total++;
    inUse.set(key, own + 1);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      total--;
      const left = (inUse.get(key) ?? 1) - 1;
      if (left > 0) inUse.set(key, left);
      else inUse.delete(key);
      for (const retry of [...waiting]) retry();
    };
  }

  return {
    tryAcquire,
    async acquire(key: string, msMax: number) {
      const slot = tryAcquire(key);
      if (slot) return slot;
      const { promise, resolve } = Promise.withResolvers<(() => void) | null>();
      const finish = (release: (() => void) | null) => {
        clearTimeout(timer);
        waiting.delete(retry);
        resolve(release);
      };
      const retry = () => {
        const release = tryAcquire(key);
        if (release) finish(release);
      };
      const timer = setTimeout(() => finish(null), msMax);
      waiting.add(retry);
      return promise;
    },
  };
}
