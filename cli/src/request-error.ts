import type { Ctx } from './context.ts';
import { CliError } from './errors.ts';

/** What a failed request means to the person at the terminal. */
export function requestError(ctx: Ctx, url: string, cause: unknown): unknown {
  if (ctx.signal.aborted) return ctx.signal.reason;
  if (cause instanceof CliError || !(cause instanceof Error)) return cause;
  const code = 'code' in cause && typeof cause.code === 'string' ? ` (${cause.code})` : '';
  return new CliError('no_connection', `No connection to ${new URL(url).origin}${code}.`, {
    next: 'Is the server running, and is SVC_BASE_URL right?',
    cause,
  });
}
