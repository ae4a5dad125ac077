import * as shapes from '@svc/contract/apps.shapes.ts';
import * as endpoints from '@svc/contract/apps.ts';
import { type Route, route } from '../plumbing/route.ts';
import { addCoOwner } from './add-co-owner.ts';
import { createApp } from './create-app.ts';
import { getApp } from './get-app.ts';
import { listApps } from './list-apps.ts';
import { listCoOwners } from './list-co-owners.ts';
import { removeCoOwner } from './remove-co-owner.ts';

export const appRoutes: Route[] = [
  route(endpoints.listApps, shapes.listApps, (ctx, { query }) => listApps(ctx, query)),
  route(endpoints.createApp, shapes.createApp, (ctx, { body }) => createApp(ctx, body)),
  route(endpoints.getApp, shapes.getApp, (ctx) => getApp(ctx)),
  route(endpoints.listCoOwners, shapes.listCoOwners, (ctx, { query }) => listCoOwners(ctx, query)),
  route(endpoints.addCoOwner, shapes.addCoOwner, (ctx, { body }) => addCoOwner(ctx, { user: body.user_id })),
  route(endpoints.removeCoOwner, shapes.removeCoOwner, (ctx, { params }) =>
    removeCoOwner(ctx, { user: params.userID }),
  ),
];
