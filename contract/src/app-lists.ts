import type * as shapes from './app-lists.shapes.ts';
import { endpoint, who } from './endpoint.ts';

export const createdWithinDaysMax = 3650;
export const searchCharsMax = 200;
/** A search is for what people look at; whoever wants everything lists. */
export const searchHitsMax = 500;
export const availabilityChecksPerMinuteMax = 60;
/** A dash before one turns it round. */
export const appSorts = [
  ...(['slug', '-slug', 'name', '-name', 'created_at', '-created_at', 'updated_at', '-updated_at'] as const),
] as const;
export const searchSorts = ['relevance', ...appSorts] as const;

const tenantWide = { credential: 'login', role: 'tenant_member', outsider: 'not_found' } as const;
const collection = '/api/v1/tenants/{tenantID}/apps';
const own = '/api/v1/tenants/{tenantID}/me/apps';
const everyMember = who('O:y C:y A:y M:y P:n N:n X:n');
const ownOnes = who('O:own C:own A:own M:own P:n N:n X:n');

export const listApps = endpoint<typeof shapes.listApps>()({
  id: 'apps.list',
  method: 'GET',
  path: collection,
  summary: 'The apps that you can see',
  kind: 'read',
  authority: tenantWide,
  who: everyMember,
  status: 200,
  errors: ['invalid_cursor'],
});

export const discoverApps = endpoint<typeof shapes.discoverApps>()({
  id: 'apps.discover',
  method: 'GET',
  path: `${collection}/discover`,
  summary: 'The catalogue: active apps that are open to you by their visibility',
  kind: 'read',
  authority: tenantWide,
  who: everyMember,
  status: 200,
});

export const searchApps = endpoint<typeof shapes.searchApps>()({
  id: 'apps.search',
  method: 'GET',
  path: `${collection}/search`,
  summary: 'Apps that you can see by words, typing errors forgiven, the best first',
  kind: 'read',
  authority: tenantWide,
  who: everyMember,
  status: 200,
  errors: ['invalid_cursor'],
});

export const checkAvailability = endpoint<typeof shapes.checkAvailability>()({
  id: 'apps.checkAvailability',
  method: 'GET',
  path: `${collection}/availability`,
  summary: 'Whether a slug or a subdomain is free, and what is free like it',
  kind: 'read',
  authority: tenantWide,
  who: everyMember,
  status: 200,
  errors: ['rate_limited'],
  perMinuteMax: availabilityChecksPerMinuteMax,
});

export const listMyApps = endpoint<typeof shapes.listMyApps>()({
  id: 'apps.mine',
  method: 'GET',
  path: own,
  summary: 'The apps that you own or co-own',
  kind: 'read',
  authority: tenantWide,
  who: ownOnes,
  status: 200,
});

export const listOwnedApps = endpoint<typeof shapes.listOwnedApps>()({
  id: 'apps.owned',
  method: 'GET',
  path: `${own}/owned`,
  summary: 'The apps whose representative owner you are',
  kind: 'read',
  authority: tenantWide,
  who: ownOnes,
  status: 200,
});

export const listReceivedApps = endpoint<typeof shapes.listReceivedApps>()({
  id: 'apps.received',
  method: 'GET',
  path: `${own}/received`,
  summary: 'The apps that others share with you, as co-owner or by invitation',
  kind: 'read',
  authority: tenantWide,
  who: ownOnes,
  status: 200,
});

export const listWorkspace = endpoint<typeof shapes.listWorkspace>()({
  id: 'apps.workspace',
  method: 'GET',
  path: `${own}/workspace`,
  summary: 'Every app that you have to do with: owned, co-owned, invited to',
  kind: 'read',
  authority: tenantWide,
  who: ownOnes,
  status: 200,
});
