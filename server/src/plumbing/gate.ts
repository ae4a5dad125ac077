import { fail } from './problem.ts';

/** Lets so many in at a time; the others wait in line, but not for ever. */
export interface Gate {
  pass<T>(work: () => Promise<T>): Promise<T>;
}

export function createGate(options: { atOnceMax: number; waitMsMax: number }): Gate {
  const waiting: (() => void)[] = [];
  let inside = 0;

  async function enter(): Promise<void> {
    if (inside < options.atOnceMax) {
      inside++;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiting.push(resolve);
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(resolve), 1);
      reject(fail('unavailable', { detail: 'Too much at once; try again.' }));
    }, options.waitMsMax);
    await promise.finally(() => clearTimeout(timer));
  }

  return {
    async pass(work) {
      await enter();
      try {
        return await work();
      } finally {
        // The place goes to the next in line without being given up.
        const next = waiting.shift();
        if (next) next();
        else inside--;
      }
    },
  };
}
