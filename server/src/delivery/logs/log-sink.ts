import { buildLogLinesMax, retainedAppLogLines } from '@svc/contract/deployments.ts';
import type { Logger } from 'pino';
import { type Db, sqlState } from '../../core/db.ts';
import type { LogSink } from '../../drivers/runtime/runtime.ts';
import { createCleanLine } from './hide-secrets.ts';
import {
  countLines,
  deleteOldAppLines,
  insertLines,
  type LogSource,
  logTag,
  type NewLine,
} from './log-lines.ts';

const flushMs = 200;
const flushLinesMax = 200;
/** Lines beyond this are counted and dropped while the database is slow. */
const bufferedLinesMax = 5_000;
const trimEveryLines = 2_000;
/** Limits notifications, which reach every cache of every server process. */
const notifyAppMs = 1_000;
const closeAttemptsMax = 3;
const retainedLastLines = 20;

const retainedFrames = 3;
const isFrame = (line: string) => /^\s+at /.test(line);
/** Frames of a stack would push out the message above them, which says what is wrong. */
const isLaterFrame = (last: readonly string[], line: string) =>
  isFrame(line) && last.length >= retainedFrames && last.slice(-retainedFrames).every(isFrame);
/** npm prints its usage, a hundred lines, after the reason of a failure. */
const isNpmUsage = (line: string) => /^npm (?:error|ERR!)(?:\s*$|\s{2,}|\s(?:\[|Usage:|Options:))/.test(line);
/** The app was deleted, and its log with it. */
const foreignKeyViolation = '23503';

interface LogTarget {
  appId: string;
  deploymentId: string;
  source: LogSource;
  process?: string;
  secrets?: Iterable<string>;
}

export interface OpenLog {
  sink: LogSink;
  last(): readonly string[];
  close(): Promise<void>;
}

export interface LogSinks {
  open(target: LogTarget): OpenLog;
}

/** Stores lines in batches, because a transaction for each line is too slow. */
export function createLogSink(deps: { db: Db; log: Logger }): LogSinks {
  return { open: (target) => openLog(deps, target) };
}

function openLog({ db, log }: { db: Db; log: Logger }, target: LogTarget): OpenLog {
  const { appId, deploymentId, source, process = null } = target;
  const clean = createCleanLine(target.secrets ?? []);
  let buffer: NewLine[] = [];
  let last: string[] = [];
  let lost = 0;
  let isEnded = false;
  let timer: Timer | undefined;
  let flushing: Promise<void> | null = null;
  let sinceTrim = 0;
  let notifiedAt = Number.NEGATIVE_INFINITY;
  /** Lines left in the log of a build or run; null: not counted yet. A resumed build continues its log. */
  let room: number | null = source === 'app' ? Number.POSITIVE_INFINITY : null;

  const sink: LogSink = (stream, line) => {
    if (isEnded) return;
    if (buffer.length >= bufferedLinesMax) {
      lost++;
      return;
    }
    reportLost();
    const text = clean(line, stream);
    buffer.push({ stream, at: new Date(), text });
    if (stream !== 'platform' && !isLaterFrame(last, text) && !isNpmUsage(text))
      last = [...last.slice(1 - retainedLastLines), text];
    if (buffer.length >= flushLinesMax) void flush();
    else timer ??= setTimeout(() => void flush(), flushMs);
  };

  sink.isFull = () => isEnded || room === 0 || buffer.length >= bufferedLinesMax;
  sink.miss = (lines) => {
    if (!isEnded && room !== 0) lost += lines;
  };

  function reportLost(): void {
    if (lost > 0) buffer.push(lostLine(lost));
    lost = 0;
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    flushing ??= write().finally(() => {
      flushing = null;
      if (buffer.length > 0 && !isEnded) timer ??= setTimeout(() => void flush(), flushMs);
    });
    return flushing;
  }

  async function write(): Promise<void> {
    try {
      room ??= Math.max(0, buildLogLinesMax - (await countLines(db, { deploymentId, source })));
      for (;;) {
        if (buffer.length === 0) reportLost();
        const batch = buffer.slice(0, flushLinesMax);
        if (batch.length === 0) return;
        const lines = limitToRoom(room, batch);
        if (lines.length > 0)
          await insertLines(db, { appId, deploymentId, source, process }, { lines, tag: tagNow() });
        buffer = buffer.slice(batch.length);
        room = Math.max(0, room - batch.length);
        await trim(lines.length);
      }
    } catch (error) {
      if (sqlState(error) === foreignKeyViolation) {
        isEnded = true;
        buffer = [];
        return;
      }
      log.warn({ err: error, deployment: deploymentId }, 'write of log lines failed');
    }
  }

  function tagNow(): string | null {
    if (source !== 'app') return logTag(deploymentId);
    if (performance.now() - notifiedAt < notifyAppMs) return null;
    notifiedAt = performance.now();
    return logTag(appId);
  }

  async function trim(written: number): Promise<void> {
    sinceTrim += written;
    if (source !== 'app' || sinceTrim < trimEveryLines) return;
    sinceTrim = 0;
    await deleteOldAppLines(db, appId, { retained: retainedAppLogLines, atOnce: trimEveryLines * 2 });
  }

  return {
    sink,
    last: () => last,
    async close() {
      for (let tries = 0; tries < closeAttemptsMax; tries++) {
        await flushing;
        if (buffer.length === 0 && lost === 0) break;
        await flush();
      }
      isEnded = true;
      clearTimeout(timer);
    },
  };
}

function limitToRoom(room: number, batch: readonly NewLine[]): NewLine[] {
  if (batch.length < room) return [...batch];
  if (room === 0) return [];
  const text = `The log ends here: it has reached its limit of ${buildLogLinesMax} lines.`;
  return [...batch.slice(0, room - 1), { stream: 'platform', at: new Date(), text }];
}

function lostLine(count: number): NewLine {
  const text = `${count} lines are missing here: they came faster than they could be stored.`;
  return { stream: 'platform', at: new Date(), text };
}
