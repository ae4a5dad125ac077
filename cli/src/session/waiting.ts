import { setTimeout as sleep } from 'node:timers/promises';
import { ProblemError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import type { Ctx } from '../context.ts';
import { CliError, timeoutError } from '../framework/errors.ts';

/** Turns a timeout (exit 12) into the timeout of a wait (exit 10). */
export async function withWaitTimeout<T>(ctx: Ctx, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof CliError) || cause.code !== 'timeout') throw cause;
    throw new CliError('wait_timeout', `${what} took longer than ${ctx.globals.timeoutMs / 1000}s.`, {
      next: 'Run the command again, with a longer --timeout if needed.',
      cause,
    });
  }
}

export function withTimeout(ctx: Ctx, ms: number): Ctx {
  const late = new AbortController();
  setTimeout(() => late.abort(timeoutError(ms)), ms).unref();
  return { ...ctx, signal: AbortSignal.any([ctx.signal, late.signal]) };
}

export async function pause({ signal }: Ctx, ms: number): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    throw signal.reason;
  });
}

const silentMsMax = 60_000;

/** Limits the wait for one chunk of a stream. */
export async function withReadTimeout<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('No data received.')), silentMsMax);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

export function isTransient(cause: unknown): boolean {
  if (cause instanceof ProblemError)
    return cause.problem.status >= 500 || [408, 429].includes(cause.problem.status);
  if (cause instanceof UnexpectedAnswerError) return cause.status >= 502;
  return cause instanceof CliError && (cause.code === 'no_connection' || cause.code === 'timeout');
}
