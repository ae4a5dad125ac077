import * as shapes from '@svc/contract/deployments.shapes.ts';
import * as endpoints from '@svc/contract/deployments.ts';
import { type Route, route } from '../plumbing/route.ts';
import { grantSourceUpload, type SourceParts } from './grant-source-upload.ts';

export const sourceRoutes = (parts: SourceParts): Route[] => [
  route(endpoints.grantSourceUpload, shapes.grantSourceUpload, (ctx) => grantSourceUpload(ctx, parts)),
];
