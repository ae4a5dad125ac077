import { getRawDb, type rawDbStatuses } from '@svc/contract/raw-db.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { pause } from '../session/waiting.ts';

const pollMs = 250;

/**
 * Waits until the transitional status ends, so that a printed connection string works. The result is printed even if
 * the wait fails, because the string is not shown again.
 */
export async function waitForRawDb(
  ctx: Ctx,
  result: Result,
  { params, passing }: { params: { tenantID: string; app: string }; passing: (typeof rawDbStatuses)[number] },
): Promise<Result> {
  if (!hasStatus(result.value) || result.value.status !== passing) return result;
  const client = await ctx.client();
  try {
    for (;;) {
      const now = await client.call(getRawDb, { params });
      if (now.status !== passing) return { ...result, value: { ...result.value, ...now } };
      await pause(ctx, pollMs);
    }
  } catch (cause) {
    const look = `svc apps raw-db status --app ${params.app}`;
    const next = `Check ${look}`;
    if (cause instanceof CliError && cause.code === 'timeout') {
      const detail = `The database is still ${passing} after ${ctx.globals.timeoutMs / 1000}s.`;
      return { ...result, failed: new CliError('wait_timeout', detail, { next, cause }) };
    }
    if (cause instanceof CliError && cause.code === 'interrupted')
      return {
        ...result,
        failed: new CliError('interrupted', `Interrupted. The database is still ${passing}.`, {
          next,
          cause,
        }),
      };
    ctx.note(`The change was made, but its status is unknown. Check ${look}`);
    return { ...result, failed: cause instanceof Error ? cause : new Error(String(cause)) };
  }
}

function hasStatus(value: unknown): value is { status: unknown } {
  return typeof value === 'object' && value !== null && 'status' in value;
}
