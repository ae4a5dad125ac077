/** Runs the work on each item, a few at a time, and keeps the order of the results. */
export async function inBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const entries = items.entries();
  const worker = async () => {
    for (const [at, item] of entries) results[at] = await work(item);
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return results;
}
