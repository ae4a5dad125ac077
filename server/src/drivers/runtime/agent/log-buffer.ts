import type { LogSink } from '../runtime.ts';
import type { JsonLines } from './json-lines.ts';
import type { LogLine, Message } from './protocol.ts';

export interface LogBuffer {
  sink: LogSink;
  attach(target: JsonLines): void;
  detach(target: JsonLines): void;
  /** The server has these lines. */
  acknowledge(batch: number): void;
  flush(): void;
}

type LogBatch = Extract<Message, { batch: number }>;

/** Lines are sent together, so that a talkative app costs few messages. */
const sendEveryMs = 20;
/** While no server reads: the last lines of an instance. */
const keptLinesMax = 2_000;
const keptBytesMax = 512 * 1024;
const waitingBytesMax = 1024 * 1024;

/** Keeps lines until a server has them; the oldest go first, and are counted. */
export function createLogBuffer(name: string): LogBuffer {
  let lines: LogLine[] = [];
  let missed = 0;
  let unread: { batch: LogBatch; target: JsonLines }[] = [];
  let lastBatch = 0;
  let target: JsonLines | null = null;
  let _timer: Timer | null = null;

  function flush(): void {
    _timer = null;
    if (!target || (lines.length === 0 && missed === 0)) return;
    const batch: LogBatch = { log: name, batch: ++lastBatch, lines, missed };
    unread.push({ batch, target });
    target.send(batch);
    lines = [];
    missed = 0;
  }

  function dropOldest(): void {
    let bytes = lines.reduce((sum, [, line]) => sum + line.length, 0);
    let count = 0;
    while (lines.length - count > keptLinesMax || bytes > keptBytesMax) {
      bytes -= lines[count]?.[1].length ?? 0;
      count += 1;
    }
    lines = lines.slice(count);
    missed += count;
  }

  const sink: LogSink = Object.assign(
    (stream: LogLine[0], line: string) => {
      lines.push([stream, line]);
      if (target) _timer ??= setTimeout(flush, sendEveryMs);
      else if (lines.length > 2 * keptLinesMax) dropOldest();
    },
    {
      isFull: () => target !== null && target.waitingBytes() > waitingBytesMax,
      miss: (count: number) => {
        missed += count;
      },
    },
  );

  return {
    sink,
    attach(next) {
      target = next;
      flush();
    },
    detach(gone) {
      if (target === gone) target = null;
      // Another server may have taken over before this one had read all.
      const lost = unread.filter((sent) => sent.target === gone).map(({ batch }) => batch);
      unread = unread.filter((sent) => sent.target !== gone);
      lines = [...lost.flatMap((batch) => batch.lines), ...lines];
      missed += lost.reduce((sum, batch) => sum + batch.missed, 0);
      if (target) flush();
      else dropOldest();
    },
    acknowledge(batch) {
      unread = unread.filter((sent) => sent.batch.batch > batch);
    },
    flush,
  };
}
