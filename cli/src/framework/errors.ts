import type { ExitCode } from '@svc/contract/exit-codes.ts';

export class CliError extends Error {
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

export function usageError(detail: string, next?: string): CliError {
  return new CliError('usage', detail, { next });
}

export function timeoutError(timeoutMs: number): CliError {
  return new CliError('timeout', `No answer within ${timeoutMs / 1000}s.`, {
    next: 'Try again, or allow more time with --timeout.',
  });
}

export class BrokenPipeError extends Error {}

export const clientCodes = {
  usage: { exit: 2, title: 'Invalid usage' },
  not_logged_in: { exit: 3, title: 'Not logged in' },
  access_denied: { exit: 4, title: 'The sign-in was denied' },
  canceled: { exit: 9, title: 'Canceled' },
  skipped: { exit: 9, title: 'Replaced by a newer one' },
  disconnected: { exit: 9, title: 'The domain is disconnected' },
  wait_timeout: { exit: 10, title: 'Timed out while waiting' },
  confirmation_required: { exit: 11, title: 'Confirmation required' },
  no_connection: { exit: 12, title: 'No connection' },
  timeout: { exit: 12, title: 'No answer in time' },
  not_this_service: { exit: 12, title: 'Unexpected answer' },
  bad_gateway: { exit: 13, title: 'The gateway cannot reach the server' },
  sign_in_failed: { exit: 13, title: 'The sign-in failed' },
  config_unreadable: { exit: 1, title: 'Invalid configuration file' },
  config_not_writable: { exit: 1, title: 'The configuration file cannot be written' },
  profile_not_found: { exit: 5, title: 'No such profile' },
  schema_differs: { exit: 6, title: 'The tables differ from the file' },
  profile_exists: { exit: 6, title: 'The profile already exists' },
  file_unreadable: { exit: 2, title: 'The file cannot be read' },
  file_exists: { exit: 6, title: 'The file already exists' },
  no_device_code: { exit: 5, title: 'No stored code' },
  nothing_to_open: { exit: 5, title: 'Nothing to open' },
  nothing_to_resume: { exit: 5, title: 'No import of this file' },
  import_unfinished: { exit: 6, title: 'Unfinished import of this file' },
  output_failed: { exit: 1, title: 'The output cannot be written' },
  bug: { exit: 1, title: 'Internal error in svc' },
  interrupted: { exit: 130, title: 'Interrupted' },
} as const satisfies Record<string, { exit: ExitCode; title: string }>;

export type ClientCode = keyof typeof clientCodes;
