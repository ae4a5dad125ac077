/** Asks again and again until the answer is there; never waits for a fixed time. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | null | undefined | false>,
  millisecondsMax = 10_000,
): Promise<T> {
  for (const deadline = performance.now() + millisecondsMax; ; ) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > deadline) throw new Error(`In ${millisecondsMax} ms it did not happen: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
