/** What changes with time in each answer, made once a second for all of them. */
export interface Clock {
  /** Counted from when it began to run. */
  readonly second: number;
  /** The value of a Date header, always 29 bytes. */
  readonly date: Buffer;
  /** A request id that nobody had before, in the form of a UUID; valid until the next is asked for. */
  nextId(): Buffer;
  stop(): void;
}

const counterAt = 24;

/** `onSecond` is called after each step. */
export function startClock(onSecond: () => void): Clock {
  let second = 0;
  let date = dateNow();
  const id = Buffer.alloc(36);
  id.write(Bun.randomUUIDv7(), 'latin1');
  const timer = setInterval(() => {
    second++;
    date = dateNow();
    // Renewed for the time in it. In between, its last part is counted up: a random one costs more than an answer.
    id.write(Bun.randomUUIDv7(), 'latin1');
    onSecond();
  }, 1_000);
  timer.unref();
  return {
    get second() {
      return second;
    },
    get date() {
      return date;
    },
    nextId() {
      countUp(id);
      return id;
    },
    stop: () => clearInterval(timer),
  };
}

/** The last twelve hexadecimal digits. */
function countUp(id: Buffer): void {
  for (let at = id.length - 1; at >= counterAt; at--) {
    const digit = id[at];
    if (digit === 0x66) {
      id[at] = 0x30;
      continue;
    }
    id[at] = digit === 0x39 ? 0x61 : (digit ?? 0x30) + 1;
    return;
  }
}

function dateNow(): Buffer {
  return Buffer.from(new Date().toUTCString(), 'latin1');
}
