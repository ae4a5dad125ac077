import type { AppPlace } from '../plumbing/app-place.ts';

/** Of all apps. */
export const sourcesKeyPrefix = 'sources/';
export const sourcePrefix = ({ tenantId, appId }: AppPlace) => `${sourcesKeyPrefix}${tenantId}/${appId}/`;
/** Where the archive is: made of ids alone. */
export const sourceKey = (place: AppPlace, uploadId: string) => `${sourcePrefix(place)}${uploadId}`;
