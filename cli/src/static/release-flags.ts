import { appFlag } from '../app-flag.ts';
import type { Flags } from '../command.ts';
import type { Ctx } from '../context.ts';

/** For commands about one release. */
export const releaseFlags = {
  ...appFlag,
  'release-id': {
    type: 'string',
    placeholder: 'id',
    required: true,
    summary: 'The release, by its id or its number; svc apps static releases list shows both',
  },
} as const satisfies Flags;

/** The path parameters that they make. */
export async function releaseParams(
  ctx: Ctx,
  tenantID: string,
  { app, 'release-id': said }: { app: string; 'release-id': string },
) {
  const number = /^#?([1-9][0-9]{0,8})$/.exec(said)?.[1];
  if (number === undefined) return { tenantID, app, release: said };
  const { findReleaseId } = await import('./find-release-id.ts');
  return { tenantID, app, release: await findReleaseId(ctx, { tenantID, app }, Number(number)) };
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
