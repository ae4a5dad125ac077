import { stagingSuffix } from '@svc/contract/static-sites.ts';
import { appHome } from '../identity/app-redirects.ts';
import type { Pointer } from './rules.ts';

export interface SitePlaces {
  baseUrl: string;
  appsDomain: string;
}

/** Of a name in an address. */
const labelCharsMax = 63;

/** Where what a pointer leads to is seen; null where there is no such host. */
export function siteUrl(places: SitePlaces, subdomain: string | null, pointer: Pointer): string | null {
  if (subdomain === null) return null;
  const label = pointer === 'active' ? subdomain : `${subdomain}${stagingSuffix}`;
  return label.length > labelCharsMax ? null : appHome(places, label);
}
