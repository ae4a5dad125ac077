import type * as shapes from './app-lists.shapes.ts';
import { anyMember, ownRecords, read } from './endpoint.ts';

export const createdWithinDaysMax = 3650;
export const searchCharsMax = 200;
export const searchHitsMax = 500;
export const availabilityChecksPerMinuteMax = 60;
/** A leading dash reverses the order. */
export const appSorts = [
  'slug',
  '-slug',
  'name',
  '-name',
  'created_at',
  '-created_at',
  'updated_at',
  '-updated_at',
] as const;
export const searchSorts = ['relevance', ...appSorts] as const;

const collection = '/api/v1/tenants/{tenantID}/apps';
const own = '/api/v1/tenants/{tenantID}/me/apps';

export const listApps = read<typeof shapes.listApps>()({
  id: 'apps.list',
  path: collection,
  summary: 'List the apps that are visible to you',
  ...anyMember,
  errors: ['invalid_cursor'],
});

export const discoverApps = read<typeof shapes.discoverApps>()({
  id: 'apps.discover',
  path: `${collection}/discover`,
  summary: 'List the catalogue: active apps that their visibility opens to you',
  ...anyMember,
});

export const searchApps = read<typeof shapes.searchApps>()({
  id: 'apps.search',
  path: `${collection}/search`,
  summary: 'Search the apps that are visible to you; best matches first, typing errors tolerated',
  ...anyMember,
  errors: ['invalid_cursor'],
});

export const checkAvailability = read<typeof shapes.checkAvailability>()({
  id: 'apps.checkAvailability',
  path: `${collection}/availability`,
  summary: 'Check whether a slug or subdomain is available, and suggest alternatives',
  ...anyMember,
  errors: ['rate_limited'],
  perMinuteMax: availabilityChecksPerMinuteMax,
});

export const listMyApps = read<typeof shapes.listMyApps>()({
  id: 'apps.mine',
  path: own,
  summary: 'List the apps that you own or co-own',
  ...ownRecords,
});

export const listOwnedApps = read<typeof shapes.listOwnedApps>()({
  id: 'apps.owned',
  path: `${own}/owned`,
  summary: 'List the apps whose representative owner you are',
  ...ownRecords,
});

export const listReceivedApps = read<typeof shapes.listReceivedApps>()({
  id: 'apps.received',
  path: `${own}/received`,
  summary: 'List the apps that others share with you, as co-owner or by invitation',
  ...ownRecords,
});

export const listWorkspace = read<typeof shapes.listWorkspace>()({
  id: 'apps.workspace',
  path: `${own}/workspace`,
  summary: 'List your workspace: apps that you own, co-own or are invited to',
  ...ownRecords,
});
