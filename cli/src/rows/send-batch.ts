import { ProblemError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { batchStatementMsMax, jsonLinesMediaType } from '@svc/contract/rows.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import type { QueryPair, RowsClient } from '../rows-client.ts';
import { pause, within } from '../waiting.ts';

export interface BatchRequest {
  body: string;
  key: string;
  conflict: Conflict | null;
  /** Whether a server that does not answer is worth waiting for: not before anything has succeeded. */
  patience: 'none' | 'some';
}

export interface Conflict {
  column: string;
  resolution: 'merge' | 'ignore';
}

const requestMsMax = 2 * batchStatementMsMax;
const retriesMax = 9;
const backoffMsMax = 30_000;
const retryAfterSecondsDefault = 5;

export interface Stored {
  inserted: number;
  /** By a conflict that was merged. */
  updated: number;
}

/** Sends it until it is answered: the key makes sure that it is stored once. */
export async function sendBatch(ctx: Ctx, rows: RowsClient, batch: BatchRequest): Promise<Stored> {
  for (let retries = 0; ; ) {
    try {
      const { body } = await rows.call({
        ...batchCall(batch),
        headers: { ...headersOf(batch.conflict), 'idempotency-key': batch.key },
        signal: within(ctx, requestMsMax).signal,
      });
      const { inserted, updated = 0 } = body as { inserted: number; updated?: number };
      return { inserted, updated };
    } catch (cause) {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      const limited = retryAfter(cause);
      if (limited === null) {
        if (!passes(cause, batch.patience) || retries >= retriesMax) throw cause;
        retries += 1;
      }
      const seconds = limited ?? Math.min(backoffMsMax, 250 * 2 ** retries) / 1000;
      if (seconds >= 2) ctx.say(`${reasonOf(cause)}; going on in ${Math.ceil(seconds)} s.`);
      await pause(ctx, seconds * 1000).catch((ended: unknown) => {
        // The time was spent on waiting as the server asked: that is what the end is to say.
        throw limited !== null && ended instanceof CliError && ended.code === 'timeout' ? cause : ended;
      });
    }
  }
}

/** The same as a dry run. */
export async function checkBatch(
  rows: RowsClient,
  { body, conflict }: Pick<BatchRequest, 'body' | 'conflict'>,
): Promise<void> {
  const call = batchCall({ body, conflict });
  const query: QueryPair[] = [...call.query, ['dry_run', 'true']];
  await rows.call({ ...call, query, headers: headersOf(conflict) });
}

function batchCall({ body, conflict }: Pick<BatchRequest, 'body' | 'conflict'>) {
  const query: QueryPair[] = conflict === null ? [] : [['on_conflict', conflict.column]];
  return { method: 'POST', body, query } as const;
}

function headersOf(conflict: Conflict | null): Record<string, string> {
  return {
    'content-type': jsonLinesMediaType,
    ...(conflict !== null && { prefer: `resolution=${conflict.resolution}-duplicates` }),
  };
}

/** Seconds to wait, where there were too many requests: that is no failure and may happen as often as it likes. */
function retryAfter(cause: unknown): number | null {
  if (!(cause instanceof ProblemError) || cause.problem.status !== 429) return null;
  return cause.retryAfterSeconds ?? retryAfterSecondsDefault;
}

/** Whether it may go by itself, and nothing can go wrong by asking again. */
function passes(cause: unknown, patience: BatchRequest['patience']): boolean {
  if (cause instanceof ProblemError)
    return ['unavailable', 'idempotency_in_progress', 'request_timeout'].includes(cause.problem.code);
  if (cause instanceof UnexpectedAnswerError) return [502, 503, 504].includes(cause.status);
  return (
    patience === 'some' && cause instanceof CliError && ['no_connection', 'timeout'].includes(cause.code)
  );
}

function reasonOf(cause: unknown): string {
  if (cause instanceof ProblemError && cause.problem.status === 429) return 'Too many requests';
  return cause instanceof CliError ? cause.message.replace(/\.$/, '') : 'The server can not answer just now';
}
