import { followFeed } from '@svc/sdk/follow.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { isTransient } from '../session/waiting.ts';
import type { QueryPair, RowsClient } from './rows-client.ts';

interface WatchOptions {
  query: readonly QueryPair[];
  lastEventId: string | undefined;
  limit: number;
}

/** One line of JSON for each event, until it is interrupted. Data stays as the server sent it, with every digit. */
export async function watchRows(
  ctx: Ctx,
  rows: RowsClient,
  { query, lastEventId, limit }: WatchOptions,
): Promise<Result> {
  const feed = followFeed({
    signal: ctx.signal,
    lastEventId,
    open: (headers, signal) => rows.open({ of: 'changes', query, headers, signal }),
    isFinal: (error) => !isTransient(error),
  });
  let left = limit;
  for await (const events of feed) {
    const lines = events.slice(0, left).map(({ event, id, data }) => {
      const known = JSON.stringify({ event, ...(id !== null && { id }) });
      return `${known.slice(0, -1)},"data":${data}}\n`;
    });
    await ctx.io.out(lines.join(''));
    left -= lines.length;
    if (left <= 0) return { value: [], printed: true };
  }
  const { reason } = ctx.signal;
  // Ctrl-C is the normal end.
  if (reason instanceof CliError && reason.code === 'interrupted')
    return { value: [], printed: true, exit: 130 };
  throw reason;
}
