import type { LogLine } from '@svc/contract/deployments.shapes.ts';
import type { z } from 'zod';
import type { Db } from '../plumbing/db.ts';
import { logCursor, readLogCursor } from './cursor.ts';
import type { LogWaits } from './log-waits.ts';
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

export interface LogReading {
  scope: LogScope;
  /** By which it is heard that there is more. */
  tag: string;
  /** Whether all lines are there that there will be. */
  isOver: () => Promise<boolean>;
  /** Throws where who asked may not any more: asked after each wait, for a right that ended meanwhile has ended. */
  confirm: () => Promise<unknown>;
  waits: LogWaits;
}

/** A message may be lost, and the end of a deployment is told by none. */
const lookEveryMs = 1_000;

/** What comes after the cursor; where that is nothing yet, it is waited for as long as asked. */
export async function readLines(db: Db, query: LogQuery, reading: LogReading): Promise<LogPage> {
  const { scope, tag, waits } = reading;
  const until = performance.now() + query.wait_seconds * 1_000;
  const after = query.cursor === undefined ? 0 : readLogCursor(scope, query.cursor);
  for (;;) {
    // Before the look: what is over by now has all its lines there.
    const isOver = await reading.isOver();
    const heard = Promise.withResolvers<void>();
    const leftMs = Math.min(lookEveryMs, until - performance.now());
    // Also before the look, so that no line can come between the two unheard.
    if (leftMs > 0 && !isOver) void waits.wait(tag, leftMs).then(heard.resolve);
    const rows = await look(db, scope, { ...query, after });
    const isWhole = rows.length < (query.cursor === undefined ? (query.tail ?? query.limit) : query.limit);
    if (rows.length > 0 || isOver || leftMs <= 0 || waits.isStopping())
      return page(scope, rows, { after, ended: isOver && (isWhole || isTail(query)) });
    await heard.promise;
    await reading.confirm();
  }
}

function look(db: Db, scope: LogScope, { cursor, tail, limit, after }: LogQuery & { after: number }) {
  return cursor === undefined && tail !== undefined
    ? listLastLines(db, scope, tail)
    : listLinesAfter(db, scope, { after, limit });
}

function isTail({ cursor, tail }: LogQuery): boolean {
  return cursor === undefined && tail !== undefined;
}

function page(
  scope: LogScope,
  rows: readonly LogRow[],
  { after, ended }: { after: number; ended: boolean },
): LogPage {
  return {
    items: rows.map(({ at, stream, text }) => ({ time: at.toISOString(), stream, text })),
    next_cursor: logCursor(scope, rows.at(-1)?.id ?? after),
    ended,
  };
}
