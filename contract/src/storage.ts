import { endpoint, who } from './endpoint.ts';
import type * as shapes from './storage.shapes.ts';

const gibibyte = 1024 ** 3;
export const storageObjectBytesMax = 5 * gibibyte;
/** Of one app, all objects together. */
export const storageBytesMax = 50 * gibibyte;
export const objectKeyBytesMax = 1024;
export const objectListLimitDefault = 100;
export const objectListLimitMax = 1_000;
export const objectDelimiterCharsMax = 16;
export const downloadUrlSecondsDefault = 300;
export const uploadUrlSecondsDefault = 600;
export const signedUrlSecondsMax = 3_600;
export const contentTypeDefault = 'application/octet-stream';
export const contentTypeCharsMax = 255;
/** What a client that knows the sum of a body sends with it: what arrives otherwise is not stored. */
export const objectSumHeader = 'x-svc-sha256';
/** Where signed addresses lead. */
export const objectsPrefix = '/objects/';

const owners = { credential: 'login', role: 'tenant_member', outsider: 'not_found', app: 'owners' } as const;
/** An admin sees how much there is, and no object. */
const ownersOnly = { authority: owners, who: who('O:y C:y A:n M:n P:n N:n X:n') } as const;
const storage = '/api/v1/tenants/{tenantID}/apps/{app}/storage';
const writeErrors = ['not_found', 'storage_not_enabled', 'app_not_active'] as const;

export const getStorage = endpoint<typeof shapes.getStorage>()({
  id: 'storage.status',
  method: 'GET',
  path: storage,
  summary: "Whether the app's storage is enabled, and how much is in it",
  kind: 'read',
  authority: { ...owners, app: 'owners_or_admin' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
});

export const enableStorage = endpoint<typeof shapes.enableStorage>()({
  id: 'storage.enable',
  method: 'POST',
  path: `${storage}/enable`,
  summary: 'Enable storage for the app',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: ['not_found', 'app_not_active'],
});

export const listObjects = endpoint<typeof shapes.listObjects>()({
  id: 'storage.list',
  method: 'GET',
  path: `${storage}/objects`,
  summary: "The app's objects, in the order of their keys",
  kind: 'read',
  ...ownersOnly,
  status: 200,
  errors: ['not_found', 'storage_not_enabled', 'invalid_cursor'],
});

export const getObjectUrl = endpoint<typeof shapes.getObjectUrl>()({
  id: 'storage.getUrl',
  method: 'GET',
  path: `${storage}/url`,
  summary: 'A signed address from which anybody can download the object for a while',
  kind: 'read',
  ...ownersOnly,
  status: 200,
  errors: ['not_found', 'storage_not_enabled'],
});

export const signUpload = endpoint<typeof shapes.signUpload>()({
  id: 'storage.signUpload',
  method: 'POST',
  path: `${storage}/upload-url`,
  summary: 'A signed address to which one object can be uploaded for a while',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: [...writeErrors, 'limit_reached'],
});

export const copyObject = endpoint<typeof shapes.copyObject>()({
  id: 'storage.copy',
  method: 'POST',
  path: `${storage}/copy`,
  summary: 'Copy an object to another key of the same app',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: [...writeErrors, 'limit_reached'],
});

export const deleteObject = endpoint<typeof shapes.deleteObject>()({
  id: 'storage.delete',
  method: 'DELETE',
  path: `${storage}/objects`,
  summary: 'Delete one object',
  kind: 'mutate',
  ...ownersOnly,
  status: 204,
  errors: writeErrors,
  irreversible: true,
});
