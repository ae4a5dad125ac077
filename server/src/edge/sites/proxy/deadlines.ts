/** `over` is called once: after `ms` without `touch`, or when `look` returns true. */
interface Deadline {
  ms: number;
  over: () => void;
  look?: () => boolean | Promise<boolean>;
}

interface Entry extends Deadline {
  at: number;
  isLooking: boolean;
}

export function createDeadlines({ everyMs }: { everyMs: number }) {
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
    if (!entry.look || entry.isLooking) return;
    entry.isLooking = true;
    try {
      if (await entry.look()) expire(entry);
    } catch {
    } finally {
      entry.isLooking = false;
    }
  }

  return {
    add(deadline: Deadline) {
      const entry: Entry = { ...deadline, at: performance.now() + deadline.ms, isLooking: false };
      entries.add(entry);
      return {
        touch(next = entry.ms): void {
          entry.ms = next;
          entry.at = performance.now() + next;
        },
        end: () => void entries.delete(entry),
      };
    },
    stop: () => clearInterval(timer),
  };
}

export interface WatchedStream {
  stream: ReadableStream<Uint8Array>;
  /** A body that was read from cannot be sent again. */
  hasStarted(): boolean;
}

export function watchedStream(
  body: ReadableStream<Uint8Array>,
  watch: { piece(bytes: number): void; ended(how: 'whole' | 'broken' | 'cancelled'): void },
): WatchedStream {
  let reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= body.getReader();
        try {
          const { done, value } = await reader.read();
          if (done) {
            watch.ended('whole');
            controller.close();
          } else {
            watch.piece(value.length);
            controller.enqueue(value);
          }
        } catch (error) {
          watch.ended('broken');
          controller.error(error);
        }
      },
      async cancel(reason) {
        watch.ended('cancelled');
        await (reader ?? body).cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, hasStarted: () => reader !== null };
}
