import { appLogLinesKept, buildLogLinesMax } from '@svc/contract/deployments.ts';
import type { Logger } from 'pino';
import type { LogSink } from '../drivers/runtime/runtime.ts';
import { sqlState } from '../plumbing/database-errors.ts';
import type { Db } from '../plumbing/db.ts';
import { createCleanLine } from './clean-line.ts';
import {
  countBuildLines,
  deleteOldAppLines,
  insertLines,
  type LogSource,
  logTag,
  type NewLine,
} from './store.ts';

const flushMs = 200;
const flushLinesMax = 200;
/** As much waits for the database; what comes beyond that is counted and not kept. */
const waitingLinesMax = 5_000;
/** How often what an app has written too much is taken away, beside the sweep. */
const trimEveryLines = 2_000;
/** Each tag is heard by every cache of every copy: apps that write without end tell of it this often at most. */
const tellAppMs = 1_000;
const closingTriesMax = 3;
/** The app is no more, and its log with it. */
const foreignKeyViolation = '23503';

export interface LogOf {
  appId: string;
  deploymentId: string;
  source: LogSource;
  /** Values that must not be seen in it: those of the app's environment. */
  secrets?: Iterable<string>;
}

export interface OpenLog {
  sink: LogSink;
  /** Resolves once everything is kept that can be. */
  close(): Promise<void>;
}

export interface LogSinks {
  open(of: LogOf): OpenLog;
}

/** Where builds and apps write their lines to: kept in batches, since a line by itself would cost a transaction. */
export function createLogSink(parts: { db: Db; log: Logger }): LogSinks {
  return { open: (of) => openLog(parts, of) };
}

function openLog({ db, log }: { db: Db; log: Logger }, of: LogOf): OpenLog {
  const { appId, deploymentId, source } = of;
  const clean = createCleanLine(of.secrets ?? []);
  let waiting: NewLine[] = [];
  let lost = 0;
  let isEnded = false;
  let timer: Timer | undefined;
  let flushing: Promise<void> | null = null;
  let sinceTrim = 0;
  let toldAt = Number.NEGATIVE_INFINITY;
  /** Lines that the build log still takes; null: not yet asked. A build that begins again goes on with the same log. */
  let room: number | null = source === 'build' ? null : Number.POSITIVE_INFINITY;

  const sink: LogSink = (stream, line) => {
    if (isEnded) return;
    if (waiting.length >= waitingLinesMax) {
      lost++;
      return;
    }
    tellLost();
    waiting.push({ stream, at: new Date(), text: clean(line, stream) });
    if (waiting.length >= flushLinesMax) void flush();
    else timer ??= setTimeout(() => void flush(), flushMs);
  };

  // Whether it keeps lines at all just now: whoever has them need make no text of them otherwise.
  sink.isFull = () => isEnded || room === 0 || waiting.length >= waitingLinesMax;
  sink.miss = (lines) => {
    if (!isEnded && room !== 0) lost += lines;
  };

  /** Where they are missing: behind what was kept before them. */
  function tellLost(): void {
    if (lost > 0) waiting.push(lostLine(lost));
    lost = 0;
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    flushing ??= write().finally(() => {
      flushing = null;
      // What came meanwhile, or could not be kept yet, has its turn.
      if (waiting.length > 0 && !isEnded) timer ??= setTimeout(() => void flush(), flushMs);
    });
    return flushing;
  }

  async function write(): Promise<void> {
    try {
      room ??= Math.max(0, buildLogLinesMax - (await countBuildLines(db, deploymentId)));
      for (;;) {
        if (waiting.length === 0) tellLost();
        const batch = waiting.slice(0, flushLinesMax);
        if (batch.length === 0) return;
        const lines = within(room, batch);
        if (lines.length > 0)
          await insertLines(db, { appId, deploymentId, source }, { lines, tag: tagNow() });
        waiting = waiting.slice(batch.length);
        room = Math.max(0, room - batch.length);
        await trim(lines.length);
      }
    } catch (error) {
      if (sqlState(error) === foreignKeyViolation) {
        isEnded = true;
        waiting = [];
        return;
      }
      log.warn({ err: error, deployment: deploymentId }, 'lines of a log wait to be kept');
    }
  }

  function tagNow(): string | null {
    if (source === 'build') return logTag(deploymentId);
    if (performance.now() - toldAt < tellAppMs) return null;
    toldAt = performance.now();
    return logTag(appId);
  }

  async function trim(written: number): Promise<void> {
    sinceTrim += written;
    if (source !== 'app' || sinceTrim < trimEveryLines) return;
    sinceTrim = 0;
    await deleteOldAppLines(db, appId, { kept: appLogLinesKept, atOnce: trimEveryLines * 2 });
  }

  return {
    sink,
    async close() {
      for (let tries = 0; tries < closingTriesMax; tries++) {
        await flushing;
        if (waiting.length === 0 && lost === 0) break;
        await flush();
      }
      isEnded = true;
      clearTimeout(timer);
    },
  };
}

/** What the log has room for; where that is not all of it, its last line says so. */
function within(room: number, batch: readonly NewLine[]): NewLine[] {
  if (batch.length < room) return [...batch];
  if (room === 0) return [];
  const text = `The log ends here: it has ${buildLogLinesMax} lines, and no more are kept.`;
  return [...batch.slice(0, room - 1), { stream: 'platform', at: new Date(), text }];
}

function lostLine(count: number): NewLine {
  const text = `${count} lines are missing here: they came faster than they could be kept.`;
  return { stream: 'platform', at: new Date(), text };
}
