/** A few at a time; the first failure keeps those that have not begun from beginning, and is thrown when all rest. */
export async function severalAtOnce<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  atOnce = 4,
): Promise<void> {
  let next = 0;
  let failure: { cause: unknown } | null = null;
  const worker = async () => {
    for (let item = items[next++]; item !== undefined && failure === null; item = items[next++]) {
      await work(item).catch((cause) => {
        failure ??= { cause };
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (failure !== null) throw (failure as { cause: unknown }).cause;
}
