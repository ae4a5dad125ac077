import { ProblemError } from '@svc/contract/client.ts';
import type { ErrorCode } from '@svc/contract/error-codes.ts';
import { batchStatementMsMax } from '@svc/contract/rows.ts';
import { batchCall, insertBatch, type RowBatch, type StoredRows } from '@svc/sdk/rows.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { pause, withTimeout } from '../session/waiting.ts';
import type { RowsClient } from './rows-client.ts';

export type { Conflict, StoredRows as Stored } from '@svc/sdk/rows.ts';

interface BatchRequest extends RowBatch {
  key: string;
  /** Whether to wait for a server that does not answer: not before a first batch has succeeded. */
  patience: 'none' | 'some';
}

const requestMsMax = 2 * batchStatementMsMax;
const retriesMax = 9;

export function sendBatch(
  ctx: Ctx,
  rows: RowsClient,
  { patience, ...batch }: BatchRequest,
): Promise<StoredRows> {
  return insertBatch(rows, batch, {
    retriesMax,
    signal: () => withTimeout(ctx, requestMsMax).signal,
    isNetworkError: (error) =>
      !ctx.signal.aborted &&
      patience === 'some' &&
      error instanceof CliError &&
      ['no_connection', 'timeout'].includes(error.code),
    pause: async (ms, error, isRateLimit) => {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      if (ms >= 2000) ctx.say(`${retryReason(error)}; retrying in ${Math.ceil(ms / 1000)} s.`);
      await pause(ctx, ms).catch((reason: unknown) => {
        // The time limit passed while waiting as the server asked: report its answer, not the limit.
        throw isRateLimit && reason instanceof CliError && reason.code === 'timeout' ? error : reason;
      });
    },
  }).catch((error: unknown) => {
    throw ctx.signal.aborted && !(error instanceof ProblemError) ? ctx.signal.reason : error;
  });
}

export async function checkBatch(
  rows: RowsClient,
  batch: Pick<BatchRequest, 'body' | 'conflict'>,
): Promise<void> {
  await rows.call(batchCall({ ...batch, dryRun: true }));
}

function retryReason(error: unknown): string {
  if (error instanceof ProblemError && error.problem.status === 429) return 'Too many requests';
  return error instanceof CliError ? error.message.replace(/\.$/, '') : 'The server cannot answer now';
}

const refusals: ReadonlySet<string> = new Set<ErrorCode>([
  'validation_failed',
  'malformed_json',
  'unknown_parameter',
  'unknown_column',
  'ambiguous_credentials',
  'app_not_active',
  'unique_violation',
  'not_null_violation',
  'payload_too_large',
  'unsupported_media_type',
]);

/** Whether nothing of the batch was stored. A key that is in use means the opposite. */
export function isRefusal(cause: unknown): boolean {
  return cause instanceof ProblemError && refusals.has(cause.problem.code);
}
