import type { LogLine } from '@svc/contract/deployments.shapes.ts';
import type { z } from 'zod';
import type { Db } from '../../core/db.ts';
import type { Invalidation } from '../../core/invalidation.ts';
import { fail } from '../../core/problem.ts';
import { type LogRow, type LogScope, listLastLines, listLinesAfter } from './store.ts';

export interface LogQuery {
  cursor?: string | undefined;
  limit: number;
  tail?: number | undefined;
  wait_seconds: number;
}

export interface LogPage {
  items: z.output<typeof LogLine>[];
  next_cursor: string;
  ended: boolean;
}

interface LogReading {
  scope: LogScope;
  /** Published when there are new lines. */
  tag: string;
  /** Whether no more lines will follow. */
  isOver: () => Promise<boolean>;
  /** Throws if the caller lost the permission during a wait. */
  confirm: () => Promise<unknown>;
  waits: LogWaits;
}

/** Notifications may be lost, and there is none for the end of a deployment. */
const pollMs = 1_000;

/** Waits up to `wait_seconds` for lines after the cursor. */
export async function readLines(db: Db, query: LogQuery, reading: LogReading): Promise<LogPage> {
  const { scope, tag, waits } = reading;
  const until = performance.now() + query.wait_seconds * 1_000;
  const after = query.cursor === undefined ? 0 : readLogCursor(scope, query.cursor);
  for (;;) {
    // Read before the lines: a log that is over has all of them.
    const isOver = await reading.isOver();
    const notified = Promise.withResolvers<void>();
    const leftMs = Math.min(pollMs, until - performance.now());
    // Subscribe before reading, so that no line is missed in between.
    if (leftMs > 0 && !isOver) void waits.wait(tag, leftMs).then(notified.resolve);
    const rows = await readRows(db, scope, { ...query, after });
    const isWhole = rows.length < (query.cursor === undefined ? (query.tail ?? query.limit) : query.limit);
    if (rows.length > 0 || isOver || leftMs <= 0 || waits.isStopping())
      return page(scope, rows, { after, ended: isOver && (isWhole || isTail(query)) });
    await notified.promise;
    await reading.confirm();
  }
}

/** For other slices, which must not import the store. */
export const readLastLines: typeof listLastLines = listLastLines;

function readRows(db: Db, scope: LogScope, query: LogQuery & { after: number }) {
  return isTail(query) ? listLastLines(db, scope, query.tail) : listLinesAfter(db, scope, query);
}

function isTail<Q extends LogQuery>(query: Q): query is Q & { tail: number } {
  return query.cursor === undefined && query.tail !== undefined;
}

function page(
  scope: LogScope,
  rows: readonly LogRow[],
  { after, ended }: { after: number; ended: boolean },
): LogPage {
  return {
    items: rows.map(({ id: _, at, ...line }) => ({ time: at.toISOString(), ...line })),
    next_cursor: logCursor(scope, rows.at(-1)?.id ?? after),
    ended,
  };
}

/** Not signed: access is checked for each request, and the scope must match. */
function logCursor(scope: LogScope, after: number): string {
  return Buffer.from(`${scopeName(scope)} ${after}`).toString('base64url');
}

function readLogCursor(scope: LogScope, cursor: string): number {
  const [, name, after] = /^(.+) (\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (name !== scopeName(scope)) throw fail('invalid_cursor');
  return Number(after);
}

function scopeName({ appId, source, deploymentId, process }: LogScope): string {
  return `${source} ${deploymentId ?? appId}${process === undefined ? '' : ` ${process}`}`;
}

export interface LogWaits {
  /** Resolves when the tag is published, or after the time. */
  wait(tag: string, ms: number): Promise<void>;
  isStopping(): boolean;
  stop(): void;
}

export function createLogWaits(invalidation: Pick<Invalidation, 'onChange'>): LogWaits {
  const waiting = new Map<string, Set<() => void>>();
  let stopped = false;
  const wake = (tag: string) => {
    for (const go of waiting.get(tag) ?? []) go();
  };
  const wakeAll = () => {
    for (const tag of waiting.keys()) wake(tag);
  };
  invalidation.onChange((tag) => (tag === null ? wakeAll() : wake(tag)));
  return {
    wait(tag, ms) {
      if (stopped) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      const waiters = waiting.get(tag) ?? new Set();
      const go = () => {
        clearTimeout(timer);
        waiters.delete(go);
        if (waiters.size === 0 && waiting.get(tag) === waiters) waiting.delete(tag);
        resolve();
      };
      const timer = setTimeout(go, ms);
      waiters.add(go);
      waiting.set(tag, waiters);
      return promise;
    },
    isStopping: () => stopped,
    stop() {
      stopped = true;
      wakeAll();
    },
  };
}

export const logTag = (id: string) => `logs:${id}`;
