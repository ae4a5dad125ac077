import * as shapes from '@svc/contract/storage.shapes.ts';
import * as endpoints from '@svc/contract/storage.ts';
import { type Route, route } from '../plumbing/route.ts';
import { copyObject } from './copy-object.ts';
import { deleteObject } from './delete-object.ts';
import { enableStorage } from './enable-storage.ts';
import { getObjectUrl } from './get-object-url.ts';
import { getStorage } from './get-storage.ts';
import { listObjects } from './list-objects.ts';
import type { UrlSigning } from './object-url.ts';
import { signUpload } from './sign-upload.ts';

export const storageRoutes = (signing: UrlSigning): Route[] => [
  route(endpoints.getStorage, shapes.getStorage, (ctx) => getStorage(ctx)),
  route(endpoints.enableStorage, shapes.enableStorage, (ctx) => enableStorage(ctx)),
  route(endpoints.listObjects, shapes.listObjects, (ctx, { query }) => listObjects(ctx, query)),
  route(endpoints.getObjectUrl, shapes.getObjectUrl, (ctx, { query }) => getObjectUrl(ctx, query, signing)),
  route(endpoints.signUpload, shapes.signUpload, (ctx, { body }) => signUpload(ctx, body, signing)),
  route(endpoints.copyObject, shapes.copyObject, (ctx, { body }) => copyObject(ctx, body)),
  route(endpoints.deleteObject, shapes.deleteObject, (ctx, { query }) => deleteObject(ctx, query)),
];
