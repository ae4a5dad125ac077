import type { Ctx } from './context.ts';
import { CliError, tooLate } from './errors.ts';

/** A wait that its time limit ends is told apart (exit 10) from a request without an answer (exit 12). */
export async function waiting<T>(ctx: Ctx, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof CliError) || cause.code !== 'timeout') throw cause;
    throw new CliError('wait_timeout', `${what} did not happen within ${ctx.globals.timeoutMs / 1000}s.`, {
      next: 'Run the command again, with a longer --timeout if needed.',
      cause,
    });
  }
}

/** The same context with less time. */
export function within(ctx: Ctx, ms: number): Ctx {
  const late = new AbortController();
  setTimeout(() => late.abort(tooLate(ms)), ms).unref();
  return { ...ctx, signal: AbortSignal.any([ctx.signal, late.signal]) };
}

/** Resolves after `ms`, or rejects when the command ends before. */
export function pause(ctx: Ctx, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    if (ctx.signal.aborted) return reject(ctx.signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(ctx.signal.reason);
    };
    const timer = setTimeout(() => {
      ctx.signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    ctx.signal.addEventListener('abort', stop, { once: true });
  });
}
