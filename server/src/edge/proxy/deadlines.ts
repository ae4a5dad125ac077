/** Things under way that must not stay silent for ever, looked after by one clock. */
export interface Deadlines {
  /** `over` is called once: when nothing was heard for `ms`, or when `look` says so. */
  add(input: { ms: number; over: () => void; look?: () => boolean | Promise<boolean> }): Deadline;
  stop(): void;
}

export interface Deadline {
  /** Something was heard; from now on `ms` where it is given. */
  touch(ms?: number): void;
  end(): void;
}

interface Entry {
  at: number;
  ms: number;
  over: () => void;
  look?: () => boolean | Promise<boolean>;
  isLooking: boolean;
}

export function createDeadlines({ everyMs }: { everyMs: number }): Deadlines {
  const entries = new Set<Entry>();
  const timer = setInterval(() => {
    const now = performance.now();
    for (const entry of entries) {
      if (entry.at <= now) expire(entry);
      else void look(entry);
    }
  }, everyMs);
  timer.unref();

  function expire(entry: Entry): void {
    if (entries.delete(entry)) entry.over();
  }

  async function look(entry: Entry): Promise<void> {
    // Where answers are slow, asking more makes them slower.
    if (!entry.look || entry.isLooking) return;
    entry.isLooking = true;
    try {
      if (await entry.look()) expire(entry);
    } catch {
      // What could not be found out now is asked again in a moment.
    } finally {
      entry.isLooking = false;
    }
  }

  return {
    add({ ms, ...rest }) {
      const entry: Entry = { ...rest, ms, at: performance.now() + ms, isLooking: false };
      entries.add(entry);
      return {
        touch(next = entry.ms) {
          entry.ms = next;
          entry.at = performance.now() + next;
        },
        end: () => void entries.delete(entry),
      };
    },
    stop: () => clearInterval(timer),
  };
}
