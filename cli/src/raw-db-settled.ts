import { getRawDb, type rawDbStatuses } from '@svc/contract/raw-db.ts';
import type { Result } from './command.ts';
import type { Ctx } from './context.ts';
import { CliError } from './errors.ts';
import { exitOf } from './report-error.ts';
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
    const isLate = cause instanceof CliError && cause.code === 'timeout';
    if (isLate || (cause instanceof CliError && cause.code === 'interrupted'))
      ctx.note(`It is still ${passing}; ${look} tells when that is over.`);
    else ctx.note(`How far it is could not be asked: ${messageOf(cause)} ${look} tells it.`);
    return { ...made, exit: isLate ? 10 : exitOf(cause) };
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function hasStatus(value: unknown): value is { status: unknown } {
  return typeof value === 'object' && value !== null && 'status' in value;
}
