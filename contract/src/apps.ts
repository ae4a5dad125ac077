import type * as shapes from './apps.shapes.ts';
import { endpoint, who } from './endpoint.ts';

export const appNameCharsMax = 100;
/** From the narrowest to the widest: each reaches whom the one before does, and more. */
export const visibilities = ['private', 'invite_only', 'public', 'internet'] as const;
export const coOwnersMax = 50;

const tenantWide = { credential: 'login', role: 'tenant_member', outsider: 'not_found' } as const;
const visible = { ...tenantWide, app: 'visible' } as const;
const governed = { ...tenantWide, app: 'owners_or_admin' } as const;
const representative = { ...tenantWide, app: 'owner' } as const;
const collection = '/api/v1/tenants/{tenantID}/apps';

export const createApp = endpoint<typeof shapes.createApp>()({
  id: 'apps.create',
  method: 'POST',
  path: collection,
  summary: 'Create an app; you become its owner',
  kind: 'mutate',
  authority: tenantWide,
  who: who('O:y C:y A:y M:y P:n N:n X:n'),
  status: 201,
  errors: ['unique_violation'],
});

export const listApps = endpoint<typeof shapes.listApps>()({
  id: 'apps.list',
  method: 'GET',
  path: collection,
  summary: 'The apps that you can see',
  kind: 'read',
  authority: tenantWide,
  who: who('O:y C:y A:y M:y P:n N:n X:n'),
  status: 200,
});

export const getApp = endpoint<typeof shapes.getApp>()({
  id: 'apps.get',
  method: 'GET',
  path: `${collection}/{app}`,
  summary: 'One app',
  kind: 'read',
  authority: visible,
  who: who('O:y C:y A:y M:v P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
});

/** A table grant reaches into apps that are not visible: what of one is there for the caller, the verb says. */
export const getAppDocument = endpoint<typeof shapes.getAppDocument>()({
  id: 'apps.openapi',
  method: 'GET',
  path: `${collection}/{app}/openapi.json`,
  summary: "The OpenAPI document of the app's tables that you can reach",
  kind: 'read',
  authority: tenantWide,
  who: who('O:y C:y A:y M:v P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
  etag: true,
});

export const listCoOwners = endpoint<typeof shapes.listCoOwners>()({
  id: 'coOwners.list',
  method: 'GET',
  path: `${collection}/{app}/co-owners`,
  summary: 'The owner and the co-owners of an app',
  kind: 'read',
  authority: governed,
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
});

export const addCoOwner = endpoint<typeof shapes.addCoOwner>()({
  id: 'coOwners.add',
  method: 'POST',
  path: `${collection}/{app}/co-owners`,
  summary: 'Make a member of the tenant a co-owner',
  kind: 'mutate',
  authority: representative,
  who: who('O:y C:n A:n M:n P:n N:n X:n'),
  status: 201,
  errors: ['not_found', 'limit_reached', 'unique_violation'],
});

export const removeCoOwner = endpoint<typeof shapes.removeCoOwner>()({
  id: 'coOwners.remove',
  method: 'DELETE',
  path: `${collection}/{app}/co-owners/{userID}`,
  summary: 'End a co-ownership at once',
  kind: 'mutate',
  authority: governed,
  who: who('O:y C:self A:y M:n P:n N:n X:n'),
  status: 204,
  errors: ['not_found'],
});
