import { appFlag } from '../app-flag.ts';
import type { Flags } from '../command.ts';

/** For commands about one release. */
export const releaseFlags = {
  ...appFlag,
  'release-id': {
    type: 'string',
    placeholder: 'id',
    required: true,
    summary: 'The release; svc apps static releases list shows them',
  },
} as const satisfies Flags;

/** The path parameters that they make. */
export function releaseParams(tenantID: string, flags: { app: string; 'release-id': string }) {
  return { tenantID, app: flags.app, release: flags['release-id'] };
}

/** An object as the endpoint takes it, on the line or in a file. */
export const bodyFlags = {
  'body-json': {
    type: 'string',
    placeholder: 'json',
    excludes: ['from-file'],
    summary: 'The object itself, as JSON',
  },
  'from-file': {
    type: 'string',
    placeholder: 'path',
    summary: 'A file that holds it; - reads standard input',
  },
} as const satisfies Flags;
