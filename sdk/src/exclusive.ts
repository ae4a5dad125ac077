export type Exclusive = <T>(work: () => Promise<T>) => Promise<T>;

export function createExclusive(name: string): Exclusive {
  const locks = globalThis.navigator?.locks;
  if (locks && typeof document !== 'undefined')
    return async (work) => await locks.request(name, async () => await work());
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work, work);
    last = turn.catch(() => {});
    return turn;
  };
}
