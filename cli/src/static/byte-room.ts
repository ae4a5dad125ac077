/** Lets work begin, in the order it came, while what it holds in memory stays within a limit. */
export function createByteRoom(bytesMax: number) {
  let held = 0;
  const waiting: { bytes: number; begin: () => void }[] = [];
  const admit = () => {
    // What is larger than the limit has its turn when it is alone.
    for (let [first] = waiting; first && (held === 0 || held + first.bytes <= bytesMax); [first] = waiting) {
      waiting.shift();
      held += first.bytes;
      first.begin();
    }
  };
  return {
    hold: async <T>(bytes: number, work: () => Promise<T>): Promise<T> => {
      await new Promise<void>((begin) => {
        waiting.push({ bytes, begin });
        admit();
      });
      try {
        return await work();
      } finally {
        held -= bytes;
        admit();
      }
    },
  };
}
