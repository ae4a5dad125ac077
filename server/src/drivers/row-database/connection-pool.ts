interface Pooled {
  readonly isOpen: boolean;
  close(): void;
}

interface Waiter<C> {
  app: string;
  take: (connection: C | null) => void;
}

interface PoolOptions<C> {
  connectionsMax: number;
  perAppMax: number;
  waitMsMax: number;
  waitersMax?: number;
  open: (onClose: () => void) => Promise<C>;
}

export class PoolExhausted extends Error {
  constructor() {
    super('timeout exceeded when trying to connect');
    this.name = 'PoolExhausted';
  }
}

/** Connections for one user at a time. `app` is whom a limit applies to. */
export function createPool<C extends Pooled>(options: PoolOptions<C>) {
  const idle: C[] = [];
  const waiting: Waiter<C>[] = [];
  const inUse = new Map<string, number>();
  let openCount = 0;
  let closed = false;

  const hasRoom = (app: string) => (inUse.get(app) ?? 0) < options.perAppMax;
  const count = (app: string, by: 1 | -1) => {
    const now = (inUse.get(app) ?? 0) + by;
    if (now === 0) inUse.delete(app);
    else inUse.set(app, now);
  };

  async function acquire(app: string): Promise<C> {
    if (hasRoom(app)) {
      count(app, 1);
      const connection = idle.findLast((each) => each.isOpen);
      idle.splice(0, idle.length, ...idle.filter((each) => each !== connection && each.isOpen));
      if (connection) return connection;
      if (openCount < options.connectionsMax) return openOne(app);
      count(app, -1);
    }
    if (waiting.length >= (options.waitersMax ?? Number.POSITIVE_INFINITY)) throw new PoolExhausted();
    const { promise, resolve } = Promise.withResolvers<C | null>();
    const waiter: Waiter<C> = { app, take: resolve };
    waiting.push(waiter);
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(waiter), 1);
      resolve(null);
    }, options.waitMsMax);
    const connection = await promise;
    clearTimeout(timer);
    if (connection === null) throw new PoolExhausted();
    return connection.isOpen ? connection : openOne(app);
  }

  async function openOne(app: string): Promise<C> {
    openCount++;
    try {
      return await options.open(() => void openCount--);
    } catch (error) {
      openCount--;
      count(app, -1);
      throw error;
    }
  }

  function nextWaiter(): Waiter<C> | undefined {
    let best: Waiter<C> | undefined;
    let fewest = options.perAppMax;
    for (const waiter of waiting) {
      const used = inUse.get(waiter.app) ?? 0;
      if (used >= fewest) continue;
      [best, fewest] = [waiter, used];
      if (used === 0) break;
    }
    return best;
  }

  function release(app: string, connection: C): void {
    count(app, -1);
    const next = nextWaiter();
    if (next) waiting.splice(waiting.indexOf(next), 1);
    if (closed) connection.close();
    else if (next) {
      count(next.app, 1);
      next.take(connection);
    } else if (connection.isOpen) idle.push(connection);
  }

  return {
    async use<T>(app: string, work: (connection: C) => Promise<T>): Promise<T> {
      const connection = await acquire(app);
      try {
        return await work(connection);
      } finally {
        release(app, connection);
      }
    },
    close() {
      closed = true;
      for (const connection of idle) connection.close();
    },
  };
}
