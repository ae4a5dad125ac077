import { getRawDb, type rawDbStatuses } from '@svc/contract/raw-db.ts';
import type { Result } from './command.ts';
import type { Ctx } from './context.ts';
import { CliError } from './errors.ts';
import { pause } from './waiting.ts';

const pollMs = 250;

/**
 * Waits while the status is the passing one, so that a connection string works when it is printed. What was made
 * stands and is printed whatever ends the wait: the string is not shown again.
 */
export async function rawDbSettled(
  ctx: Ctx,
  made: Result,
  { params, passing }: { params: { tenantID: string; app: string }; passing: (typeof rawDbStatuses)[number] },
): Promise<Result> {
  if (!hasStatus(made.value) || made.value.status !== passing) return made;
  const client = await ctx.client();
  try {
    for (;;) {
      const now = await client.call(getRawDb, { params }, { signal: ctx.signal });
      if (now.status !== passing) return { ...made, value: { ...made.value, ...now } };
      await pause(ctx, pollMs);
    }
  } catch (cause) {
    const look = `svc apps raw-db status --app ${params.app}`;
    const next = `${look} tells when that is over.`;
    if (cause instanceof CliError && cause.code === 'timeout') {
      const detail = `It is still ${passing} after ${ctx.globals.timeoutMs / 1000}s.`;
      return { ...made, failed: new CliError('wait_timeout', detail, { next, cause }) };
    }
    if (cause instanceof CliError && cause.code === 'interrupted')
      return {
        ...made,
        failed: new CliError('interrupted', `Interrupted. It is still ${passing}.`, { next, cause }),
      };
    ctx.note(`It was done; how far it is could not be asked. ${look} tells it.`);
    return { ...made, failed: cause instanceof Error ? cause : new Error(String(cause)) };
  }
}

function hasStatus(value: unknown): value is { status: unknown } {
  return typeof value === 'object' && value !== null && 'status' in value;
}
