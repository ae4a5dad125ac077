const rememberedMs = 1_000;

/** One question to the database a second, however often it is asked: a probe must not become a load. */
export function createReadiness(ask: () => Promise<void>): () => Promise<boolean> {
  let last: { at: number; answer: Promise<boolean> } | null = null;
  return () => {
    if (!last || performance.now() - last.at > rememberedMs) {
      last = {
        at: performance.now(),
        answer: ask().then(
          () => true,
          () => false,
        ),
      };
    }
    return last.answer;
  };
}
