import { buildLogLinesMax, retainedAppLogLines } from '@svc/contract/deployments.ts';
import { runLogBytesMax, runLogLinesMax } from '@svc/contract/runs.ts';
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
/** Lines of an app beyond this are counted and dropped while the database is slow. */
const bufferedLinesMax = 5_000;
/** A program whose log is stored whole, a build or a run, is not read while more lines are waiting … */
const waitingLinesMax = 2_000;
/** … but what was read from its pipes before is stored. */
const wholeBufferedLinesMax = 50_000;
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
  /** Lines that are not in the log, also those beyond its limit. */
  missing(): number;
  /** Resolves when the buffered lines are stored, as far as possible. */
  close(): Promise<void>;
}

export interface LogSinks {
  open(target: LogTarget): OpenLog;
}

/** Stores lines in batches, because a transaction for each line is too slow. */
export function createLogSink({
  db,
  log,
  limits = logLimits,
}: Omit<LogDeps, 'limits'> & Partial<LogDeps>): LogSinks {
  return { open: (target) => openLog({ db, log, limits }, target) };
}

interface LogDeps {
  db: Db;
  log: Logger;
  limits: Readonly<Record<LogSource, LogLimit>>;
}

function openLog({ db, log, limits }: LogDeps, target: LogTarget): OpenLog {
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
  let missing = 0;
  const isWhole = source !== 'app';
  const limit = limits[source];
  /** What is left of the limit; null: not counted yet. A resumed build continues its log. */
  let room: LogLimit | null = isWhole ? null : limit;
  const isAtLimit = () => room?.lines === 0;
  let waiting: PromiseWithResolvers<void> | null = null;

  const sink: LogSink = (stream, line) => {
    if (isEnded) return;
    if (buffer.length >= (isWhole ? wholeBufferedLinesMax : bufferedLinesMax)) {
      lost++;
      missing++;
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

  sink.isFull = () => isEnded || isAtLimit() || (!isWhole && buffer.length >= bufferedLinesMax);
  sink.miss = (lines) => {
    if (isEnded) return;
    missing += lines;
    if (!isAtLimit()) lost += lines;
  };
  if (isWhole)
    sink.ready = () => {
      if (isEnded || isAtLimit() || buffer.length < waitingLinesMax) return null;
      waiting ??= Promise.withResolvers();
      return waiting.promise;
    };

  function resumeReading(): void {
    if (!isEnded && !isAtLimit() && buffer.length >= waitingLinesMax) return;
    waiting?.resolve();
    waiting = null;
  }

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
      room ??= {
        ...limit,
        lines: Math.max(0, limit.lines - (await countLines(db, { deploymentId, source }))),
      };
      for (;;) {
        if (buffer.length === 0) reportLost();
        const batch = buffer.slice(0, flushLinesMax);
        if (batch.length === 0) return;
        const fitting = fitLines(batch, { room, limit });
        const { lines } = fitting;
        if (lines.length > 0)
          await insertLines(db, { appId, deploymentId, source, process }, { lines, tag: tagNow() });
        buffer = buffer.slice(batch.length);
        room = fitting.room;
        missing += fitting.missing;
        resumeReading();
        await trim(lines.length);
      }
    } catch (error) {
      if (sqlState(error) === foreignKeyViolation) {
        isEnded = true;
        buffer = [];
        resumeReading();
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
    missing: () => missing,
    async close() {
      for (let tries = 0; tries < closeAttemptsMax; tries++) {
        await flushing;
        if (buffer.length === 0 && lost === 0) break;
        await flush();
      }
      missing += buffer.length;
      isEnded = true;
      clearTimeout(timer);
      resumeReading();
    },
  };
}

interface LogLimit {
  lines: number;
  bytes: number;
}

const logLimits: Readonly<Record<LogSource, LogLimit>> = {
  app: { lines: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY },
  build: { lines: buildLogLinesMax, bytes: Number.POSITIVE_INFINITY },
  run: { lines: runLogLinesMax, bytes: runLogBytesMax },
};

interface FittingLines {
  lines: readonly NewLine[];
  missing: number;
  room: LogLimit;
}

/** The last line reports that the log is full. */
function fitLines(
  batch: readonly NewLine[],
  { room, limit }: { room: LogLimit; limit: LogLimit },
): FittingLines {
  if (room.lines === 0) return { lines: [], missing: batch.length, room };
  const left = { ...room };
  for (const [at, { text }] of batch.entries()) {
    left.lines -= 1;
    left.bytes -= Buffer.byteLength(text);
    if (left.lines > 0 && left.bytes > 0) continue;
    const lines = [...batch.slice(0, at), limitLine(limit)];
    return { lines, missing: batch.length - at, room: { lines: 0, bytes: 0 } };
  }
  return { lines: batch, missing: 0, room: left };
}

function limitLine({ lines, bytes }: LogLimit): NewLine {
  const ofBytes = Number.isFinite(bytes) ? ` or ${bytes / 1024 / 1024} MiB` : '';
  const text = `The log ends here: it has reached its limit of ${lines} lines${ofBytes}.`;
  return { stream: 'platform', at: new Date(), text };
}

function lostLine(count: number): NewLine {
  const text = `${count} lines are missing here: they came faster than they could be stored.`;
  return { stream: 'platform', at: new Date(), text };
}
