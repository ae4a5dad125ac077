const firstMs = 5;
/** To ask costs the server as much as what it is waited for: it is not to be done all the time. */
const pauseMsMax = 100;

/** Asks again and again, less often after a while, until the answer is there; never waits for a fixed time. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | null | undefined | false>,
  millisecondsMax = 10_000,
): Promise<T> {
  const deadline = performance.now() + millisecondsMax;
  for (let pauseMs = firstMs; ; pauseMs = Math.min(pauseMs * 1.5, pauseMsMax)) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > deadline) throw new Error(`In ${millisecondsMax} ms it did not happen: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
