import * as lifecycleShapes from '@svc/contract/app-life.shapes.ts';
import * as lifecycle from '@svc/contract/app-life.ts';
import * as listShapes from '@svc/contract/app-lists.shapes.ts';
import * as lists from '@svc/contract/app-lists.ts';
import * as shapes from '@svc/contract/apps.shapes.ts';
import * as endpoints from '@svc/contract/apps.ts';
import * as ownerShapes from '@svc/contract/owners.shapes.ts';
import * as owners from '@svc/contract/owners.ts';
import { type Route, routes } from '../../http/router.ts';
import { requireUploadedIcon } from '../require-uploaded-icon.ts';
import { createApp, describeApp } from './apps.ts';
import { archiveApp, deleteApp, reactivateApp, restoreApp, resumeApp, suspendApp } from './lifecycle.ts';
import { discoverApps, listApps, listOwnApps, searchApps } from './lists.ts';
import { checkAvailability } from './names.ts';
import { transferOwnership } from './ownership.ts';
import {
  addAppMember,
  addCoOwner,
  listAppMembers,
  listOwners,
  removeAppMember,
  removeCoOwner,
} from './people.ts';
import { purgeApp } from './purge.ts';
import type { AppUrls } from './rules.ts';
import { updateApp } from './update-app.ts';

export const createAppRoutes = (urls: AppUrls): Route[] => [
  ...routes(lists, listShapes, {
    listApps: (ctx, { query }) => listApps(ctx, query),
    discoverApps: (ctx, { query }) => discoverApps(ctx, query, urls),
    searchApps: (ctx, { query }) => searchApps(ctx, query),
    checkAvailability: (ctx, { query }) => checkAvailability(ctx, query),
    listMyApps: (ctx, { query }) => listOwnApps(ctx, { relations: ['owner', 'co_owner'], query }),
    listOwnedApps: (ctx, { query }) => listOwnApps(ctx, { relations: ['owner'], query }),
    listReceivedApps: (ctx, { query }) => listOwnApps(ctx, { relations: ['co_owner', 'member'], query }),
    listWorkspace: (ctx, { query }) =>
      listOwnApps(ctx, { relations: ['owner', 'co_owner', 'member'], query }),
  }),
  ...routes(endpoints, shapes, {
    updateApp: (ctx, { body }) => {
      requireUploadedIcon(urls, icons(body));
      return updateApp(ctx, body);
    },
    createApp: (ctx, { body }) => {
      requireUploadedIcon(urls, icons(body));
      return createApp(ctx, body);
    },
    getApp: (ctx) => describeApp(ctx, urls),
    listCoOwners: (ctx, { query }) => listOwners(ctx, query),
    addCoOwner: (ctx, { body }) => addCoOwner(ctx, { user: body.user_id }),
    removeCoOwner: (ctx, { params }) => removeCoOwner(ctx, { user: params.userID }),
  }),
  ...routes(lifecycle, lifecycleShapes, {
    archiveApp,
    reactivateApp,
    suspendApp,
    resumeApp,
    deleteApp,
    restoreApp,
    purgeApp,
  }),
  ...routes(owners, ownerShapes, {
    transferOwnership: (ctx, { body }) => transferOwnership(ctx, body),
    listAppMembers: (ctx, { query }) => listAppMembers(ctx, query),
    addAppMember: (ctx, { body }) => addAppMember(ctx, body),
    removeAppMember: (ctx, { params }) => removeAppMember(ctx, { user: params.userID }),
  }),
];

type Icons = { icon_url?: string | null | undefined; icon_dark_url?: string | null | undefined };

function icons({ icon_url, icon_dark_url }: Icons): Icons {
  return { icon_url, icon_dark_url };
}

export const appRoutes: Route[] = createAppRoutes(null);
