export type Random = ReturnType<typeof newRandom>;

/** Seeded pseudo-random numbers; SVC_TEST_SEED repeats a failure. */
export function newRandom(seed = Number(process.env.SVC_TEST_SEED) || Math.trunc(Math.random() * 2 ** 31)) {
  let state = seed | 0;
  // Mulberry32.
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  /** An integer from 0 to the bound, exclusive. */
  const below = (bound: number) => Math.floor(next() * bound);
  return {
    seed,
    below,
    chance: (probability: number) => next() < probability,
    pick: <T>(items: readonly T[]): T => items[below(items.length)]!,
    /** That many items, each at most once. */
    some: <T>(items: readonly T[], count: number): T[] => {
      const left = [...items];
      const length = Math.min(count, left.length);
      return Array.from({ length }, () => left.splice(below(left.length), 1)[0]!);
    },
    times: <T>(count: number, make: (at: number) => T): T[] =>
      Array.from({ length: count }, (_, at) => make(at)),
  };
}
