import type { Logger } from 'pino';

/**
 * Work that copies of the server share through rows: a copy claims a row with a lease, renews it while it works, and
 * lets go of it. A copy that dies renews nothing, and another claims the row once the lease has run out. The rows are
 * the truth; a wake-up only spares the wait for the next look.
 */
export interface LeasedWork<T> {
  name: string;
  log: Logger;
  /** Takes one row and its lease in one statement; null: nothing to do. */
  claim(): Promise<T | null>;
  /** False: it is another's by now; the work is aborted. */
  renew(item: T): Promise<boolean>;
  /** What it throws is logged; the lease runs out and the row is claimed again. Aborted also when this copy stops. */
  work(item: T, signal: AbortSignal): Promise<void>;
  /** Whether there is a row that may become due by the clock alone. What comes new is told with a wake-up. */
  isAnyOpen(): Promise<boolean>;
  atOnceMax: number;
  lookEveryMs: number;
  renewEveryMs: number;
}

export interface LeasedWorker {
  start(): void;
  wake(): void;
  /** Takes nothing more, aborts what is under way, and waits until that has ended. */
  stop(): Promise<void>;
}

/** With nothing open, this is how long one waits whose wake-up was lost. */
const quietMs = 15_000;

export function createLeasedWorker<T>(options: LeasedWork<T>): LeasedWorker {
  const { log, name } = options;
  const underWay = new Set<Promise<void>>();
  const stopping = new AbortController();
  let timer: Timer | undefined;
  let looking: Promise<unknown> | null = null;
  let isWoken = false;

  function wake(): void {
    if (stopping.signal.aborted) return;
    isWoken = true;
    clearTimeout(timer);
    looking ??= look().then((nextMs) => {
      looking = null;
      if (isWoken) wake();
      else if (!stopping.signal.aborted) timer = setTimeout(wake, nextMs);
    });
  }

  /** After how long to look again, if nobody wakes us before. */
  async function look(): Promise<number> {
    isWoken = false;
    try {
      while (!stopping.signal.aborted && underWay.size < options.atOnceMax) {
        const item = await options.claim();
        if (item === null) return (await options.isAnyOpen()) ? options.lookEveryMs : quietMs;
        const doing: Promise<void> = carryOut(item).finally(() => {
          underWay.delete(doing);
          wake();
        });
        underWay.add(doing);
      }
    } catch (error) {
      log.warn({ err: error, work: name }, 'could not look for work');
    }
    return options.lookEveryMs;
  }

  async function carryOut(item: T): Promise<void> {
    const lost = new AbortController();
    const renewing = setInterval(() => void renew(item, lost), options.renewEveryMs);
    try {
      await options.work(item, AbortSignal.any([stopping.signal, lost.signal]));
    } catch (error) {
      if (!stopping.signal.aborted) log.warn({ err: error, work: name }, 'work was left unfinished');
    } finally {
      clearInterval(renewing);
    }
  }

  async function renew(item: T, lost: AbortController): Promise<void> {
    try {
      if (!(await options.renew(item))) lost.abort(new Error('The lease was lost.'));
    } catch (error) {
      // A database that is away for a moment takes nothing from us: the lease decides.
      log.warn({ err: error, work: name }, 'could not renew a lease');
    }
  }

  return {
    start: wake,
    wake,
    async stop() {
      stopping.abort(new Error('The server is stopping.'));
      clearTimeout(timer);
      await looking;
      await Promise.allSettled([...underWay]);
    },
  };
}
