import { ProblemError } from '@svc/contract/client.ts';
import type { ExitCode } from '@svc/contract/exit-codes.ts';
import type { Problem } from '@svc/contract/problem.ts';
import type { Ctx } from './context.ts';

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

/** An error of the server about which this command knows better what to do. */
export class AdvisedProblem extends ProblemError {
  constructor(
    problem: Problem,
    readonly next: string,
  ) {
    super(problem, null);
  }
}

/** Work at the server that ended in failure, by the code that the server gave it. */
export class WorkFailed extends Error {
  constructor(
    readonly code: string,
    detail: string,
    readonly next: string,
  ) {
    super(detail);
  }
}

/** Found out on this side; the server answers the same. */
export function planStale(): ProblemError {
  const detail = 'What would change is no longer what was previewed.';
  const problem = { type: 'about:blank', title: 'Stale plan', status: 409, detail, request_id: '' };
  return new ProblemError({ ...problem, code: 'plan_stale' }, null);
}

/** The error that ends a command whose time is over. */
export function tooLate(timeoutMs: number): CliError {
  return new CliError('timeout', `No answer within ${timeoutMs / 1000}s.`, {
    next: 'Try again, or allow more time with --timeout.',
  });
}

/** Whoever reads standard output has gone. */
export class BrokenPipeError extends Error {}

/** How to log in to where this command looks for a login. */
export function loginLine(profile: string | undefined): string {
  return profile === undefined ? 'svc login' : `svc login --profile ${profile}`;
}

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

/** What can go wrong on this side of the wire. The server's own codes stand in the contract. */
export const clientCodes = {
  usage: { exit: 2, title: 'Wrong usage' },
  not_logged_in: { exit: 3, title: 'Not logged in' },
  access_denied: { exit: 4, title: 'The sign-in was refused' },
  canceled: { exit: 9, title: 'The work was canceled' },
  skipped: { exit: 9, title: 'A newer one took its place' },
  disconnected: { exit: 9, title: 'The domain is disconnected' },
  wait_timeout: { exit: 10, title: 'The wait ran out of time' },
  confirmation_required: { exit: 11, title: 'A person must confirm' },
  no_connection: { exit: 12, title: 'No connection' },
  timeout: { exit: 12, title: 'No answer in time' },
  not_this_service: { exit: 12, title: 'Something else answered' },
  bad_gateway: { exit: 13, title: 'The server can not be reached through its gateway' },
  sign_in_failed: { exit: 13, title: 'The sign-in failed' },
  config_unreadable: { exit: 1, title: 'A configuration file can not be used' },
  config_not_writable: { exit: 1, title: 'A configuration file can not be written' },
  file_unreadable: { exit: 2, title: 'A file can not be read' },
  file_exists: { exit: 6, title: 'A file is there already' },
  no_device_code: { exit: 5, title: 'No code is kept' },
  nothing_to_open: { exit: 5, title: 'There is nothing to open' },
  nothing_to_resume: { exit: 5, title: 'No import of this file is known' },
  import_unfinished: { exit: 6, title: 'An import of this file was begun and not finished' },
  output_failed: { exit: 1, title: 'The output can not be written' },
  bug: { exit: 1, title: 'A fault of svc itself' },
  interrupted: { exit: 130, title: 'Interrupted' },
} as const satisfies Record<string, { exit: ExitCode; title: string }>;

export type ClientCode = keyof typeof clientCodes;
