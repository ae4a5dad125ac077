import { sitePlatformPrefix } from '@svc/contract/static-sites.ts';

/** Of every site; answered before anything of a release. */
export const sitePaths = {
  auth: `${sitePlatformPrefix}auth`,
  logout: `${sitePlatformPrefix}logout`,
} as const;
