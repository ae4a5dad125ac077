import { act, owners, ownersOrAdmin, read, remove, storageOwners } from './endpoint.ts';
import type * as shapes from './storage.shapes.ts';

const gibibyte = 1024 ** 3;
export const storageObjectBytesMax = 5 * gibibyte;
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
/** SHA-256 of the body; a body with another digest is rejected. */
export const objectSumHeader = 'x-svc-sha256';
export const objectsPrefix = '/objects/';
/** Of the keys of files that belong to rows: the rules of the tables say who gets them, and no call on objects. */
export const rowFilesPrefix = '_rows/';

const storage = '/api/v1/tenants/{tenantID}/apps/{app}/storage';
const writeErrors = ['storage_not_enabled', 'app_not_active'] as const;

export const getStorage = read<typeof shapes.getStorage>()({
  id: 'storage.status',
  path: storage,
  summary: "Get the status and usage of the app's storage",
  ...ownersOrAdmin,
});

export const enableStorage = act<typeof shapes.enableStorage>()({
  id: 'storage.enable',
  path: `${storage}/enable`,
  summary: 'Enable storage for the app',
  ...owners,
  errors: ['app_not_active'],
});

export const listObjects = read<typeof shapes.listObjects>()({
  id: 'storage.list',
  path: `${storage}/objects`,
  summary: "List the app's objects, by key",
  ...storageOwners,
  errors: ['storage_not_enabled', 'invalid_cursor'],
});

export const getObjectUrl = read<typeof shapes.getObjectUrl>()({
  id: 'storage.getUrl',
  path: `${storage}/url`,
  summary: 'Get a signed URL that lets anybody download the object for a limited time',
  ...storageOwners,
  errors: ['storage_not_enabled'],
});

export const signUpload = act<typeof shapes.signUpload>()({
  id: 'storage.signUpload',
  path: `${storage}/upload-url`,
  summary: 'Get a signed URL for the upload of one object, valid for a limited time',
  ...storageOwners,
  errors: [...writeErrors, 'limit_reached'],
});

export const copyObject = act<typeof shapes.copyObject>()({
  id: 'storage.copy',
  path: `${storage}/copy`,
  summary: 'Copy an object to another key of the same app',
  ...storageOwners,
  errors: [...writeErrors, 'limit_reached'],
});

export const deleteObject = remove<typeof shapes.deleteObject>()({
  id: 'storage.delete',
  path: `${storage}/objects`,
  summary: 'Delete an object',
  ...storageOwners,
  errors: writeErrors,
  irreversible: true,
});
