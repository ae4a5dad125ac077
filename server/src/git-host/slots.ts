/** How much is done at once, in all and for one; more is refused and not kept waiting. */
export interface Slots {
  /** Null: all are taken. The other one gives it back, and may be called twice. */
  take(holder: string): (() => void) | null;
}

export function createSlots({ atOnceMax, perHolderMax }: { atOnceMax: number; perHolderMax: number }): Slots {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    take(holder) {
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
      };
    },
  };
}
