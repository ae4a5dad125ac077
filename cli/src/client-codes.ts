import type { ExitCode } from '@svc/contract/exit-codes.ts';

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
  output_failed: { exit: 1, title: 'The output can not be written' },
  bug: { exit: 1, title: 'A fault of svc itself' },
  interrupted: { exit: 130, title: 'Interrupted' },
} as const satisfies Record<string, { exit: ExitCode; title: string }>;

export type ClientCode = keyof typeof clientCodes;
