import type { Answer } from '@svc/contract/endpoint.ts';
import type { getRelease, getSite } from '@svc/contract/static-sites.ts';

export type ReleaseView = Answer<NonNullable<typeof getRelease.shape>>;
export type SiteView = Answer<NonNullable<typeof getSite.shape>>;

export function releaseName({ number, version }: Pick<ReleaseView, 'number' | 'version'>): string {
  return version === '' ? `#${number}` : `#${number} ${version}`;
}
