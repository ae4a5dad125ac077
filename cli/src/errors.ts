import { ProblemError } from '@svc/contract/client.ts';
import type { ErrorCode } from '@svc/contract/error-codes.ts';
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
  nothing_to_resume: { exit: 5, title: 'No import of this file is known' },
  import_unfinished: { exit: 6, title: 'An import of this file was begun and not finished' },
  output_failed: { exit: 1, title: 'The output can not be written' },
  bug: { exit: 1, title: 'A fault of svc itself' },
  interrupted: { exit: 130, title: 'Interrupted' },
} as const satisfies Record<string, { exit: ExitCode; title: string }>;

export type ClientCode = keyof typeof clientCodes;

/** What a person can do about an error of the server. Codes that say it all have no entry. */
const steps: Partial<Record<ErrorCode, string>> = {
  validation_failed: 'Correct the values; svc <command> --help lists what is taken.',
  invalid_cursor: 'Start again without --cursor.',
  ambiguous_credentials: 'Unset SVC_TOKEN or SVC_API_KEY.',
  unauthenticated: 'Run svc login; if SVC_TOKEN is set, it is no longer valid.',
  login_required: 'Run svc login; a personal access token is good for the data API only.',
  forbidden: 'Ask a tenant admin, or check the tenant with svc whoami and --tenant.',
  not_found: 'Check the id and the tenant (svc whoami); the list command shows what there is.',
  policy_in_use: 'svc grants list shows the grants; revoke those that name the policy first.',
  connector_in_use: 'svc grants list --connector <id> shows the grants; revoke them first.',
  preset_in_use: 'svc grants list shows the grants; revoke those that use the preset first.',
  preset_built_in: 'Create a preset of your own with svc presets create.',
  grant_not_active: 'Create a new grant with svc grants create.',
  unique_violation: 'Choose another name.',
  last_admin: 'Make somebody else tenant_admin first: svc members set.',
  limit_reached: 'Remove what is no longer needed.',
  visibility_widen_not_allowed: 'Ask for publication with svc publish.',
  idempotency_in_progress: 'Wait a moment, then look whether it has been done.',
  plan_stale: 'Preview again, and execute with the new --plan.',
  precondition_failed: 'Read it again, then repeat the change.',
  rate_limited: 'Wait a moment, then try again.',
  internal: 'Tell the operator the request id.',
  unavailable: 'Try again in a moment.',
  query_timeout: 'Ask for less at a time.',
};

export function nextStep(code: ErrorCode, retryAfterSeconds: number | null): string | undefined {
  if (retryAfterSeconds !== null) return `Try again in ${retryAfterSeconds} s.`;
  return steps[code];
}
