import type * as shapes from './apps.shapes.ts';
import {
  anyMember,
  change,
  member,
  ownersOrAdmin,
  read,
  remove,
  representative,
  update,
  who,
} from './endpoint.ts';
import { words } from './words.ts';

export const appNameCharsMax = 100;
export const appDescriptionCharsMax = 20_000;
export const appSummaryCharsMax = 60;
export const costCenterCharsMax = 100;
export const dataScopesMax = 50;
export const dataScopeCharsMax = 340;
export const urlCharsMax = 2_000;
/** Ordered from the narrowest to the widest audience; each includes the one before. */
export const visibilities = ['private', 'invite_only', 'public', 'internet'] as const;
export const authModes = ['cookie', 'bearer', 'api_key', 'anonymous'] as const;
export const deployMethods = ['docker', 'compose', 'static'] as const;
export const deploymentStatuses = ['draft', 'deployed', 'archived'] as const;
export const operatingStatuses = ['live', 'dev', 'archived'] as const;
/**
 * The latest publication request decides while it is pending or rejected; otherwise `approved` if an earlier
 * one was.
 */
export const reviewStatuses = ['none', 'pending', 'approved', 'rejected'] as const;
export const coOwnersMax = 50;
export const namesReservedDays = 30;
export const reservedSlugs: readonly string[] = ['availability', 'discover', 'icon', 'search'];
export const reservedSubdomains: readonly string[] = words(`
  account accounts admin api app apps assets auth autoconfig autodiscover cdn console dashboard
  data dns docs edge ftp git help imap internal localhost login logout mail mx ns ns1 ns2 oauth
  pop postmaster root security smtp sso staging static status storage support svc sync system webmail
  wpad www
`);

const collection = '/api/v1/tenants/{tenantID}/apps';

export const createApp = change<typeof shapes.createApp>()({
  id: 'apps.create',
  path: collection,
  summary: 'Create an app; you become its owner',
  ...anyMember,
  errors: ['slug_taken', 'subdomain_taken', 'resource_tier_exceeded'],
});

/** An admin who is no owner may send `visibility` alone. */
export const updateApp = update<typeof shapes.updateApp>()({
  id: 'apps.update',
  path: `${collection}/{app}`,
  summary: "Update an app's settings",
  authority: { ...member, app: 'owners_or_admin' },
  who: who('O:y C:y A:n M:n P:n N:n X:n'),
  errors: [
    'immutable_field',
    'visibility_widen_not_allowed',
    'invalid_state_transition',
    'subdomain_taken',
    'resource_tier_exceeded',
  ],
});

export const getApp = read<typeof shapes.getApp>()({
  id: 'apps.get',
  path: `${collection}/{app}`,
  summary: 'Get an app',
  authority: { ...member, app: 'visible', deletedApp: 'reached' },
  who: who('O:y C:y A:y M:v P:n N:n X:n'),
});

/** A table grant may reach into an app that is not visible, so the use case decides what the caller sees. */
export const getAppDocument = read<typeof shapes.getAppDocument>()({
  id: 'apps.openapi',
  path: `${collection}/{app}/openapi.json`,
  summary: "Get the OpenAPI document of the app's tables that you can access",
  authority: member,
  who: who('O:y C:y A:y M:v P:n N:n X:n'),
  etag: true,
});

export const listCoOwners = read<typeof shapes.listCoOwners>()({
  id: 'coOwners.list',
  path: `${collection}/{app}/co-owners`,
  summary: 'List the owner and co-owners of an app',
  ...ownersOrAdmin,
});

export const addCoOwner = change<typeof shapes.addCoOwner>()({
  id: 'coOwners.add',
  path: `${collection}/{app}/co-owners`,
  summary: 'Add a co-owner',
  ...representative,
  errors: ['limit_reached', 'unique_violation'],
});

export const removeCoOwner = remove<typeof shapes.removeCoOwner>()({
  id: 'coOwners.remove',
  path: `${collection}/{app}/co-owners/{userID}`,
  summary: 'Remove a co-owner; takes effect immediately',
  authority: { ...member, app: 'owners_or_admin' },
  who: who('O:y C:self A:y M:n P:n N:n X:n'),
});
