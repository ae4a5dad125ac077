import type { Ctx } from '../context.ts';
import type { Flags } from '../framework/declaration.ts';
import { appFlag } from '../inputs/common.ts';

export const releaseFlags = {
  ...appFlag,
  'release-id': {
    type: 'string',
    placeholder: 'id',
    required: true,
    summary: 'Id or number of the release, from svc apps static releases list',
  },
} as const satisfies Flags;

export async function releaseParams(
  ctx: Ctx,
  tenantID: string,
  { app, 'release-id': ref }: { app: string; 'release-id': string },
) {
  const number = /^#?([1-9][0-9]{0,8})$/.exec(ref)?.[1];
  if (number === undefined) return { tenantID, app, release: ref };
  const { findReleaseId } = await import('./releases.ts');
  return { tenantID, app, release: await findReleaseId(ctx, { tenantID, app }, Number(number)) };
}

export const bodyFlags = {
  'body-json': {
    type: 'string',
    placeholder: 'json',
    excludes: ['from-file'],
    summary: 'Object as JSON',
  },
  'from-file': {
    type: 'string',
    placeholder: 'path',
    summary: 'File with the object; - reads standard input',
  },
} as const satisfies Flags;

export function retiredNote(key: string): string {
  const why = key === 'visibility' ? visibilityRetired : serviceWorkersRetired;
  return `${key} is ignored: ${why}`;
}

export const visibilityRetired = 'the visibility of the app decides who sees the site.';
export const serviceWorkersRetired = 'service workers are always blocked.';
