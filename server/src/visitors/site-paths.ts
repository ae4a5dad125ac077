import { sitePlatformPrefix } from '@svc/contract/static-sites.ts';

/** Of every site; answered before anything of a release. */
export const sitePaths = {
  auth: `${sitePlatformPrefix}auth`,
  logout: `${sitePlatformPrefix}logout`,
} as const;

/** Of the platform: where sites send those who are not signed in there. */
export const siteAuthPath = '/site-auth';
