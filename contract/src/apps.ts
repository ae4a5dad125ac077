import type * as shapes from './apps.shapes.ts';
import { endpoint, who } from './endpoint.ts';

export const appNameCharsMax = 100;
export const appDescriptionCharsMax = 20_000;
export const appSummaryCharsMax = 60;
export const costCenterCharsMax = 100;
export const dataScopesMax = 50;
export const dataScopeCharsMax = 100;
export const urlCharsMax = 2_000;
/** From the narrowest to the widest: each reaches whom the one before does, and more. */
export const visibilities = ['private', 'invite_only', 'public', 'internet'] as const;
export const authModes = ['cookie', 'bearer', 'api_key', 'anonymous'] as const;
export const deployMethods = ['docker', 'compose', 'static'] as const;
export const deploymentStatuses = ['draft', 'deployed', 'archived'] as const;
export const operatingStatuses = ['live', 'dev', 'archived'] as const;
/**
 * By the latest request to publish: it waits, or was rejected. Once it came to nothing else, `approved` stands where an
 * earlier one has shown the app beyond its owners, and `none` where the app is private.
 */
export const reviewStatuses = ['none', 'pending', 'approved', 'rejected'] as const;
export const coOwnersMax = 50;
/** How long a name that was given up is kept for the tenant that had it. */
export const namesReservedDays = 30;
/** Words of this API, which stand where a slug would. */
export const reservedSlugs: readonly string[] = ['availability', 'discover', 'icon', 'search'];
/** Hosts that people would take for the platform's own. */
export const reservedSubdomains: readonly string[] = [
  ...['account', 'accounts', 'admin', 'api', 'app', 'apps', 'assets', 'auth', 'autoconfig', 'autodiscover'],
  ...[
    'cdn',
    'console',
    'dashboard',
    'data',
    'dns',
    'docs',
    'edge',
    'ftp',
    'git',
    'help',
    'imap',
    'internal',
    'localhost',
  ],
  ...['login', 'logout', 'mail', 'mx', 'ns', 'ns1', 'ns2', 'oauth', 'pop', 'postmaster', 'root', 'security'],
  ...[
    'smtp',
    'sso',
    'static',
    'status',
    'storage',
    'support',
    'svc',
    'sync',
    'system',
    'webmail',
    'wpad',
    'www',
  ],
];

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
  errors: ['slug_taken', 'subdomain_taken', 'resource_tier_exceeded'],
});

/** An admin who is no owner may send `visibility` alone. */
export const updateApp = endpoint<typeof shapes.updateApp>()({
  id: 'apps.update',
  method: 'PATCH',
  path: `${collection}/{app}`,
  summary: 'Change what is said of an app',
  kind: 'mutate',
  authority: governed,
  who: who('O:y C:y A:n M:n P:n N:n X:n'),
  status: 200,
  errors: [
    ...([
      'not_found',
      'immutable_field',
      'visibility_widen_not_allowed',
      'invalid_state_transition',
    ] as const),
    ...(['subdomain_taken', 'resource_tier_exceeded'] as const),
  ],
});

export const getApp = endpoint<typeof shapes.getApp>()({
  id: 'apps.get',
  method: 'GET',
  path: `${collection}/{app}`,
  summary: 'One app',
  kind: 'read',
  authority: { ...visible, deletedApp: 'reached' },
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
