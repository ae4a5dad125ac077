import type { Readable } from 'node:stream';
import { logLineBytesMax } from '@svc/contract/deployments.ts';
import type { LogSink } from '../runtime.ts';

/** Bytes per turn of the event loop, so that other work is not blocked. */
const sliceBytesMax = 8 * 1024;
/** A program with more output is not read for a while, and blocks when its pipe is full. */
const pace = { bytesPerMs: 4 * 1024, linesPerMs: 5, aheadMsMax: 1_000 };

export async function readOutput(
  stream: Readable,
  { name, log }: { name: 'stdout' | 'stderr'; log: LogSink },
): Promise<void> {
  const lines = splitLines({ lineBytesMax: logLineBytesMax, onLine: (line) => log(name, line) });
  let paidUntil = performance.now();

  function logBytes(bytes: Uint8Array): number {
    if (!log.isFull?.()) return lines.take(bytes) / pace.linesPerMs;
    const missed = lines.skip(bytes);
    if (missed > 0) log.miss?.(missed);
    return 0;
  }

  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      for (let from = 0; from < chunk.length; from += sliceBytesMax) {
        for (let wait = log.ready?.(); wait; wait = log.ready?.()) await wait;
        const bytes = chunk.subarray(from, from + sliceBytesMax);
        const costMs = Math.max(logBytes(bytes), bytes.length / pace.bytesPerMs);
        const now = performance.now();
        paidUntil = Math.max(now, paidUntil) + costMs;
        const waitMs = paidUntil - now - pace.aheadMsMax;
        if (waitMs > 0) await Bun.sleep(Math.ceil(waitMs));
        else await new Promise(setImmediate);
      }
    }
  } catch {
    // The stream broke; the output so far is logged.
  }
  lines.end();
}

interface LineSplitter {
  take(bytes: Uint8Array): number;
  skip(bytes: Uint8Array): number;
  end(): void;
}

/** A very long line is split, so that no program can fill the server's memory. */
export function splitLines(options: { lineBytesMax: number; onLine: (line: string) => void }): LineSplitter {
  const { lineBytesMax, onLine } = options;
  const decoder = new TextDecoder();
  let buffered: Uint8Array[] = [];
  let bufferedBytes = 0;
  let lines = 0;

  // PostgreSQL cannot store NUL in a text.
  function emit(bytes: Uint8Array): void {
    lines += 1;
    onLine(decoder.decode(bytes).replaceAll('\0', '\ufffd'));
  }

  function buffer(bytes: Uint8Array): void {
    let rest = bytes;
    while (bufferedBytes + rest.length > lineBytesMax) {
      const whole = joinBuffered(rest.subarray(0, lineBytesMax - bufferedBytes));
      const cut = characterStart(whole);
      const used = whole.length - cut;
      rest = rest.subarray(lineBytesMax - bufferedBytes);
      emit(whole.subarray(0, cut));
      buffered = used > 0 ? [whole.slice(cut)] : [];
      bufferedBytes = used;
    }
    if (rest.length === 0) return;
    buffered.push(rest.slice());
    bufferedBytes += rest.length;
  }

  function joinBuffered(last: Uint8Array): Uint8Array {
    return buffered.length === 0 ? last : Buffer.concat([...buffered, last]);
  }

  function emitBuffered(): void {
    const line = joinBuffered(new Uint8Array());
    buffered = [];
    bufferedBytes = 0;
    emit(line.at(-1) === 0x0d ? line.subarray(0, -1) : line);
  }

  return {
    take(bytes) {
      lines = 0;
      let from = 0;
      for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, from)) {
        buffer(bytes.subarray(from, at));
        emitBuffered();
        from = at + 1;
      }
      buffer(bytes.subarray(from));
      return lines;
    },
    skip(bytes) {
      let passed = 0;
      let last = -1;
      for (let at = 0; at < bytes.length; at++) {
        if (bytes[at] !== 0x0a) continue;
        passed += 1;
        last = at;
      }
      if (last !== -1) {
        buffered = [];
        bufferedBytes = 0;
      }
      const rest = bytes.subarray(last + 1);
      if (bufferedBytes + rest.length <= lineBytesMax) buffer(rest);
      return passed;
    },
    end() {
      if (bufferedBytes > 0) emitBuffered();
    },
  };
}

function characterStart(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(4, bytes.length - 1); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc0) return bytes.length - back;
  }
  return bytes.length;
}
