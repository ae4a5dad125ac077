import * as listShapes from '@svc/contract/app-lists.shapes.ts';
import * as lists from '@svc/contract/app-lists.ts';
import * as shapes from '@svc/contract/apps.shapes.ts';
import * as endpoints from '@svc/contract/apps.ts';
import { type Route, route } from '../plumbing/route.ts';
import { addCoOwner } from './add-co-owner.ts';
import { checkAvailability } from './check-availability.ts';
import { createApp } from './create-app.ts';
import { discoverApps } from './discover-apps.ts';
import { listApps } from './list-apps.ts';
import { listCoOwners } from './list-co-owners.ts';
import { listOwnApps } from './list-own-apps.ts';
import { removeCoOwner } from './remove-co-owner.ts';
import { searchApps } from './search-apps.ts';
import { type AppPlaces, showApp } from './show-app.ts';
import { updateApp } from './update-app.ts';

export const appRoutesAt = (places: AppPlaces): Route[] => [
  route(lists.listApps, listShapes.listApps, (ctx, { query }) => listApps(ctx, query)),
  route(lists.discoverApps, listShapes.discoverApps, (ctx, { query }) => discoverApps(ctx, query)),
  route(lists.searchApps, listShapes.searchApps, (ctx, { query }) => searchApps(ctx, query)),
  route(lists.checkAvailability, listShapes.checkAvailability, (ctx, { query }) =>
    checkAvailability(ctx, query),
  ),
  route(lists.listMyApps, listShapes.listMyApps, (ctx, { query }) =>
    listOwnApps(ctx, { relations: ['owner', 'co_owner'], query }),
  ),
  route(lists.listOwnedApps, listShapes.listOwnedApps, (ctx, { query }) =>
    listOwnApps(ctx, { relations: ['owner'], query }),
  ),
  route(lists.listReceivedApps, listShapes.listReceivedApps, (ctx, { query }) =>
    listOwnApps(ctx, { relations: ['co_owner', 'member'], query }),
  ),
  route(lists.listWorkspace, listShapes.listWorkspace, (ctx, { query }) =>
    listOwnApps(ctx, { relations: ['owner', 'co_owner', 'member'], query }),
  ),
  route(endpoints.updateApp, shapes.updateApp, (ctx, { body }) => updateApp(ctx, body)),
  route(endpoints.createApp, shapes.createApp, (ctx, { body }) => createApp(ctx, body)),
  route(endpoints.getApp, shapes.getApp, (ctx) => showApp(ctx, places)),
  route(endpoints.listCoOwners, shapes.listCoOwners, (ctx, { query }) => listCoOwners(ctx, query)),
  route(endpoints.addCoOwner, shapes.addCoOwner, (ctx, { body }) => addCoOwner(ctx, { user: body.user_id })),
  route(endpoints.removeCoOwner, shapes.removeCoOwner, (ctx, { params }) =>
    removeCoOwner(ctx, { user: params.userID }),
  ),
];

/** Where no app is served, so that none has an address. */
export const appRoutes: Route[] = appRoutesAt(null);
