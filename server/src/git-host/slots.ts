/** How much is done at once, in all and for one. */
export interface Slots {
  /** Null: all are taken, and it is not waited for. What is given back may be given back twice. */
  take(holder: string): (() => void) | null;
  /** The same after a while, in the order in which they came. */
  wait(holder: string, msMax: number): Promise<(() => void) | null>;
}

export function createSlots({ atOnceMax, perHolderMax }: { atOnceMax: number; perHolderMax: number }): Slots {
  const taken = new Map<string, number>();
  const waiting = new Set<() => void>();
  let all = 0;

  function take(holder: string): (() => void) | null {
    const own = taken.get(holder) ?? 0;
    if (all >= atOnceMax || own >= perHolderMax) return null;
    all++;
    taken.set(holder, own + 1);
    let isBack = false;
    return () => {
      if (isBack) return;
      isBack = true;
      all--;
      const left = (taken.get(holder) ?? 1) - 1;
      if (left > 0) taken.set(holder, left);
      else taken.delete(holder);
      for (const look of [...waiting]) look();
    };
  }

  return {
    take,
    async wait(holder, msMax) {
      const at = take(holder);
      if (at) return at;
      const { promise, resolve } = Promise.withResolvers<(() => void) | null>();
      const end = (slot: (() => void) | null) => {
        clearTimeout(timer);
        waiting.delete(look);
        resolve(slot);
      };
      const look = () => {
        const slot = take(holder);
        if (slot) end(slot);
      };
      const timer = setTimeout(() => end(null), msMax);
      waiting.add(look);
      return promise;
    },
  };
}
