import * as shapes from '@svc/contract/storage.shapes.ts';
import * as endpoints from '@svc/contract/storage.ts';
import { type Route, routes } from '../../http/router.ts';
import { copyObject, deleteObject, getObjectUrl, listObjects, signUpload } from './objects.ts';
import type { UrlSigning } from './signed-urls.ts';
import { enableStorage, getStorage } from './storage.ts';

export const storageRoutes = (signing: UrlSigning): Route[] =>
  routes(endpoints, shapes, {
    getStorage,
    enableStorage,
    listObjects: (ctx, { query }) => listObjects(ctx, query),
    getObjectUrl: (ctx, { query }) => getObjectUrl(ctx, query, signing),
    signUpload: (ctx, { body }) => signUpload(ctx, body, signing),
    copyObject: (ctx, { body }) => copyObject(ctx, body),
    deleteObject: (ctx, { query }) => deleteObject(ctx, query),
  });
