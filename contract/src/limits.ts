/** Where the server tells its version. */
export const versionPath = '/api/v1/version';
export const perPageDefault = 50;
export const perPageMax = 200;
export const readsPerMinuteMax = 600;
export const slugPattern = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;
export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export const bodyBytesMaxDefault = 1024 * 1024;
export const urlBytesMax = 8 * 1024;
export const idempotencyKeyCharsMax = 255;
export const idempotencyKeptHours = 24;
export const resourceTiers = ['XS', 'S', 'M', 'L', 'XL'] as const;
