import type { ClientCode } from './client-codes.ts';

/** What goes wrong on this side of the wire, by its code. */
export class CliError extends Error {
  /** What to do about it, as a sentence. */
  readonly next: string | undefined;

  constructor(
    readonly code: ClientCode,
    detail: string,
    options: { next?: string | undefined; cause?: unknown } = {},
  ) {
    super(detail, { cause: options.cause });
    this.name = 'CliError';
    this.next = options.next;
  }
}

export function usage(detail: string, next?: string): CliError {
  return new CliError('usage', detail, { next });
}

/** The error that ends a command whose time is over. */
export function tooLate(timeoutMs: number): CliError {
  return new CliError('timeout', `No answer within ${timeoutMs / 1000}s.`, {
    next: 'Try again, or allow more time with --timeout.',
  });
}

/** Whoever reads standard output has gone. */
export class BrokenPipeError extends Error {}
