import { useDocumentVisibility } from '@mantine/hooks';
import { logLinesPerPageMax, logWaitSecondsMax } from '@svc/contract/deployments.ts';
import { useEffect, useRef, useState } from 'react';
import { handleSignedOut } from '../../../api/client.ts';
import { sleep } from '../../../api/sleep.ts';
import { appendLines, type LogLine, type LogPage, retryDelay } from './log-line.ts';

interface LogQuery {
  cursor?: string | undefined;
  limit: number;
  tail?: number | undefined;
  wait_seconds: number;
}

interface LogSource {
  key: string;
  read(query: LogQuery, signal: AbortSignal): Promise<LogPage>;
  from: 'tail' | 'start';
}

export interface Log {
  lines: readonly LogLine[];
  isCaughtUp: boolean;
  isEnded: boolean;
  problem: unknown;
  retry(): void;
}

const emptyLog = { lines: [], isCaughtUp: false, isEnded: false, problem: null };

export function useLog({ key, read, from }: LogSource, isPaused: boolean): Log {
  const [log, setLog] = useState<Omit<Log, 'retry'>>(emptyLog);
  const [tries, setTries] = useState(0);
  const isVisible = useDocumentVisibility() === 'visible';
  const position = useRef<{ key: string; cursor?: string; isEnded: boolean }>({ key, isEnded: false });
  const source = useRef(read);
  source.current = read;

  // biome-ignore lint/correctness/useExhaustiveDependencies: a retry restarts the same request.
  useEffect(() => {
    if (position.current.key !== key) {
      position.current = { key, isEnded: false };
      setLog(emptyLog);
    }
    // A paused log stands still, but a newly selected one is still read to its end.
    if (isPaused && position.current.cursor !== undefined) return;
    if (!isVisible || position.current.isEnded) return;
    const stop = new AbortController();
    let failures = 0;
    const readOn = async () => {
      while (!stop.signal.aborted && !position.current.isEnded) {
        const { cursor } = position.current;
        const query = queryFor(cursor, from);
        // After a failure do not wait for new lines, so that the recovery shows at once.
        const page = await source.current(failures > 0 ? { ...query, wait_seconds: 0 } : query, stop.signal);
        if (stop.signal.aborted) return;
        failures = 0;
        const isFull = page.items.length >= logLinesPerPageMax && from === 'start';
        position.current = { key, cursor: page.next_cursor, isEnded: page.ended };
        setLog((before) => ({
          lines: appendLines(before.lines, page.items),
          isCaughtUp: before.isCaughtUp || !isFull,
          isEnded: page.ended,
          problem: null,
        }));
        if (isFull) continue;
        if (isPaused) return;
        await sleep(pollMs, stop.signal);
      }
    };
    const follow = async (): Promise<void> => {
      for (;;) {
        try {
          return await readOn();
        } catch (problem) {
          if (stop.signal.aborted) return;
          handleSignedOut(problem);
          setLog((before) => ({ ...before, problem }));
          const pauseMs = retryDelay(problem, ++failures);
          if (pauseMs === null) return;
          await sleep(pauseMs, stop.signal);
        }
      }
    };
    void follow();
    return () => stop.abort();
  }, [key, from, isPaused, isVisible, tries]);

  return { ...log, retry: () => setTries((count) => count + 1) };
}

function queryFor(cursor: string | undefined, from: LogSource['from']): LogQuery {
  if (cursor !== undefined) return { cursor, limit: logLinesPerPageMax, wait_seconds: logWaitSecondsMax };
  const first = { limit: logLinesPerPageMax, wait_seconds: 0 };
  return from === 'tail' ? { ...first, tail: logLinesPerPageMax } : first;
}

const pollMs = 250;
