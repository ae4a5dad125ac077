import type { LogLine } from '@svc/contract/deployments.shapes.ts';
import {
  logLinesPerPageMax,
  logWaitSecondsMax,
  readAppLog,
  readBuildLog,
} from '@svc/contract/deployments.ts';
import type { z } from 'zod';
import type { Ctx } from '../context.ts';
import { passes } from '../passes.ts';
import { pause, within } from '../waiting.ts';

export type Line = z.output<typeof LogLine>;

/** Which log: of a deployment while it is built, or of what runs. */
export type LogPlace =
  | { log: 'build'; tenantID: string; app: string; deployment: string }
  | { log: 'app'; tenantID: string; app: string; deployment: string | undefined };

export interface LogWish {
  tail: number | undefined;
  /** `there`: what there is. `ended`: also what comes, until nothing will. */
  until: 'there' | 'ended';
  /** Called once, where nothing is there at the beginning. */
  onNothing?: () => Promise<void>;
}

/** Beyond what the server itself waits: then the line is broken. */
const requestMsMax = (logWaitSecondsMax + 20) * 1_000;
const pauseMs = 1_000;

/** The lines of a log as they come, in pieces. A fault that may be over in a moment does not end a wait. */
export async function* logLines(ctx: Ctx, place: LogPlace, wish: LogWish): AsyncGenerator<Line[]> {
  const { tail, until } = wish;
  let cursor: string | undefined;
  for (;;) {
    const isFirst = cursor === undefined;
    const page = await read(ctx, place, {
      ...{ cursor, tail: isFirst ? tail : undefined, limit: logLinesPerPageMax },
      ...(until === 'ended' && !isFirst && { wait_seconds: logWaitSecondsMax }),
    }).catch((cause: unknown) => {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      if (until === 'there' || isFirst || !passes(cause)) throw cause;
      return null;
    });
    if (page === null) {
      await pause(ctx, pauseMs);
      continue;
    }
    if (page.items.length > 0) yield page.items;
    else if (isFirst) await wish.onNothing?.();
    if (page.ended) return;
    if (until === 'there' && (page.items.length < logLinesPerPageMax || (isFirst && tail !== undefined)))
      return;
    cursor = page.next_cursor;
  }
}

interface Query {
  cursor: string | undefined;
  tail: number | undefined;
  limit: number;
  wait_seconds?: number;
}

async function read(ctx: Ctx, place: LogPlace, query: Query) {
  const client = await ctx.client();
  const { signal } = within(ctx, requestMsMax);
  const { tenantID, app } = place;
  return place.log === 'build'
    ? client.call(
        readBuildLog,
        { params: { tenantID, app, deployment: place.deployment }, query },
        { signal },
      )
    : client.call(
        readAppLog,
        { params: { tenantID, app }, query: { ...query, deployment: place.deployment } },
        { signal },
      );
}
