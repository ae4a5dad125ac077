import type { EdgeRequest } from '../plumbing/edge-request.ts';
import { isAppsHost, siteOrigin, type VisitPlaces } from './site-target.ts';

/**
 * Where the visitor is. Hosts of the apps domain have the platform's own scheme and port, whatever a proxy in front
 * makes of them on the way here.
 */
export function originAt({ host, scheme, authority }: EdgeRequest, places: VisitPlaces): string {
  if (isAppsHost(host, places)) return siteOrigin(host, places);
  return URL.parse(`${scheme}://${authority}`)?.origin ?? '';
}
