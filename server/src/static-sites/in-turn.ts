/** Each holds a file with its compressed forms in memory while it runs. */
const atOnceMax = 4;
let running = 0;
const waiting: (() => void)[] = [];

/** Not more than some at once, in the order in which they came. */
export async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running < atOnceMax) running++;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await work();
  } finally {
    // The place goes straight to the next in line, so nobody can slip in between.
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}
