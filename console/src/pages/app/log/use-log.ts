import { useDocumentVisibility } from '@mantine/hooks';
import { logLinesPerPageMax, logWaitSecondsMax } from '@svc/contract/deployments.ts';
import { useEffect, useRef, useState } from 'react';
import { noteSignedOut } from '../../../api/query-client.ts';
import { type KeptLine, type LogPage, withMore } from './log-line.ts';
import { retryPause } from './retry-pause.ts';

export interface LogQuery {
  cursor?: string | undefined;
  limit: number;
  tail?: number | undefined;
  wait_seconds: number;
}

export interface LogSource {
  /** Another one begins a new log. */
  key: string;
  read(query: LogQuery, signal: AbortSignal): Promise<LogPage>;
  /** With the last lines, or with the first that there are. */
  begin: 'tail' | 'start';
}

export interface Log {
  lines: readonly KeptLine[];
  /** What was there when it was opened has come. */
  isCaughtUp: boolean;
  /** Nothing will follow. */
  isEnded: boolean;
  /** Why it could not be read last; it is tried again by itself where that may help. */
  problem: unknown;
  retry(): void;
}

const none = { lines: [], isCaughtUp: false, isEnded: false, problem: null };

/**
 * A log as it grows. The server is asked for what comes after the last line, and answers when there is some; nothing is
 * asked while it is paused or nobody looks, and nothing of it is missed.
 */
export function useLog({ key, read, begin }: LogSource, isPaused: boolean): Log {
  const [log, setLog] = useState<Omit<Log, 'retry'>>(none);
  const [tries, setTries] = useState(0);
  const isLookedAt = useDocumentVisibility() === 'visible';
  const place = useRef<{ key: string; cursor?: string; isEnded: boolean }>({ key, isEnded: false });
  const source = useRef(read);
  source.current = read;

  // biome-ignore lint/correctness/useExhaustiveDependencies: another try begins the same anew.
  useEffect(() => {
    if (place.current.key !== key) {
      place.current = { key, isEnded: false };
      setLog(none);
    }
    // What is paused stands still; another log is read up to its end all the same.
    if (isPaused && place.current.cursor !== undefined) return;
    if (!isLookedAt || place.current.isEnded) return;
    const stop = new AbortController();
    let failures = 0;
    const readOn = async () => {
      while (!stop.signal.aborted && !place.current.isEnded) {
        const { cursor } = place.current;
        const query = queryFor(cursor, begin);
        // After a failure the first answer comes at once, so that it is soon said that all is well again.
        const page = await source.current(failures > 0 ? { ...query, wait_seconds: 0 } : query, stop.signal);
        if (stop.signal.aborted) return;
        failures = 0;
        const isFull = page.items.length >= logLinesPerPageMax && begin === 'start';
        place.current = { key, cursor: page.next_cursor, isEnded: page.ended };
        setLog((before) => ({
          lines: withMore(before.lines, page.items),
          isCaughtUp: before.isCaughtUp || !isFull,
          isEnded: page.ended,
          problem: null,
        }));
        if (isFull) continue;
        if (isPaused) return;
        await pause(betweenMs, stop.signal);
      }
    };
    const follow = async (): Promise<void> => {
      for (;;) {
        try {
          return await readOn();
        } catch (problem) {
          if (stop.signal.aborted) return;
          noteSignedOut(problem);
          setLog((before) => ({ ...before, problem }));
          const pauseMs = retryPause(problem, ++failures);
          if (pauseMs === null) return;
          await pause(pauseMs, stop.signal);
        }
      }
    };
    void follow();
    return () => stop.abort();
  }, [key, begin, isPaused, isLookedAt, tries]);

  return { ...log, retry: () => setTries((count) => count + 1) };
}

function queryFor(cursor: string | undefined, begin: LogSource['begin']): LogQuery {
  if (cursor !== undefined) return { cursor, limit: logLinesPerPageMax, wait_seconds: logWaitSecondsMax };
  const first = { limit: logLinesPerPageMax, wait_seconds: 0 };
  return begin === 'tail' ? { ...first, tail: logLinesPerPageMax } : first;
}

/** An app that writes without end is read a few times a second, not as fast as it writes. */
const betweenMs = 250;

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
