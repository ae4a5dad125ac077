import * as accessRequestsShapes from '@svc/contract/access-requests.shapes.ts';
import * as accessRequestsEndpoints from '@svc/contract/access-requests.ts';
import * as lifecycleShapes from '@svc/contract/app-life.shapes.ts';
import * as lifecycle from '@svc/contract/app-life.ts';
import * as listShapes from '@svc/contract/app-lists.shapes.ts';
import * as lists from '@svc/contract/app-lists.ts';
import * as appRolesShapes from '@svc/contract/app-roles.shapes.ts';
import * as appRolesEndpoints from '@svc/contract/app-roles.ts';
import * as appsShapes from '@svc/contract/apps.shapes.ts';
import * as appsEndpoints from '@svc/contract/apps.ts';
import * as categoriesShapes from '@svc/contract/categories.shapes.ts';
import * as categoriesEndpoints from '@svc/contract/categories.ts';
import * as iconsShapes from '@svc/contract/icons.shapes.ts';
import * as iconsEndpoints from '@svc/contract/icons.ts';
import { resourceTiers } from '@svc/contract/limits.ts';
import * as notificationsShapes from '@svc/contract/notifications.shapes.ts';
import * as notificationsEndpoints from '@svc/contract/notifications.ts';
import * as ownerShapes from '@svc/contract/owners.shapes.ts';
import * as owners from '@svc/contract/owners.ts';
import * as resourcePresetsShapes from '@svc/contract/resource-presets.shapes.ts';
import * as resourcePresetsEndpoints from '@svc/contract/resource-presets.ts';
import type { TenantCtx } from '../core/context.ts';
import { type PageQuery, paginate } from '../core/paging.ts';
import { orNotFound, validationError } from '../core/problem.ts';
import { type Route, routes } from '../http/router.ts';
import { findTenant } from '../people/tenants/tenants.ts';
import {
  acceptAccessRequest,
  listAccessRequests,
  refuseAccessRequest,
  requestAccess,
} from './access-requests/access-requests.ts';
import {
  createCategory,
  deleteCategory,
  getCategory,
  listCategories,
  updateCategory,
} from './categories/categories.ts';
import { preCreateIcon, signIcon } from './icons/icons.ts';
import type { IconSigner } from './icons/uploads.ts';
import { listNotifications, readNotifications } from './notifications/notifications.ts';
import { createApp, describeApp } from './record/apps.ts';
import {
  archiveApp,
  deleteApp,
  purgeApp,
  reactivateApp,
  restoreApp,
  resumeApp,
  suspendApp,
} from './record/lifecycle.ts';
import { discoverApps, listApps, listOwnApps, searchApps } from './record/lists.ts';
import { checkAvailability } from './record/names.ts';
import { transferOwnership } from './record/ownership.ts';
import {
  addAppMember,
  addCoOwner,
  listAppMembers,
  listOwners,
  removeAppMember,
  removeCoOwner,
} from './record/people.ts';
import { type AppUrls, isWithinTier } from './record/rules.ts';
import { updateApp } from './record/update-app.ts';
import { listAppRoles, removeAppRole, setAppRole } from './roles/roles.ts';

/** Browsers load icons: an external icon would reveal to its host who opens which app. */
function requireUploadedIcon(
  platform: { baseUrl: string } | null,
  icons: Readonly<Record<string, string | null | undefined>>,
): void {
  for (const [field, url] of Object.entries(icons)) {
    if (!url || platform === null || url.startsWith(`${new URL(platform.baseUrl).origin}/icons/`)) continue;
    throw validationError(field, 'must be the URL of an icon that was uploaded here');
  }
}

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
  ...routes(appsEndpoints, appsShapes, {
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

export const accessRequestRoutes: Route[] = routes(accessRequestsEndpoints, accessRequestsShapes, {
  requestAccess: (ctx, { body }) => requestAccess(ctx, body),
  listAccessRequests: (ctx, { query }) => listAccessRequests(ctx, query),
  acceptAccessRequest: (ctx, { params }) => acceptAccessRequest(ctx, { id: params.request }),
  refuseAccessRequest: (ctx, { params }) => refuseAccessRequest(ctx, { id: params.request }),
});

export const appRoleRoutes: Route[] = routes(appRolesEndpoints, appRolesShapes, {
  listAppRoles: (ctx, { query }) => listAppRoles(ctx, query),
  setAppRole: (ctx, { body }) => setAppRole(ctx, body),
  removeAppRole: (ctx, { params: { role, userID } }) => removeAppRole(ctx, { role, user: userID }),
});

export const categoryRoutes = (platform: { baseUrl: string } | null): Route[] =>
  routes(categoriesEndpoints, categoriesShapes, {
    listCategories: (ctx, { query }) => listCategories(ctx, query),
    createCategory: (ctx, { body }) => {
      requireUploadedIcon(platform, { icon_url: body.icon_url });
      return createCategory(ctx, body);
    },
    getCategory: (ctx, { params }) => getCategory(ctx, params.categoryID),
    updateCategory: (ctx, { params, body }) => {
      requireUploadedIcon(platform, { icon_url: body.icon_url });
      return updateCategory(ctx, { category: params.categoryID, set: body });
    },
    deleteCategory: (ctx, { params }) => deleteCategory(ctx, params.categoryID),
  });

export const iconRoutes = (signer: IconSigner): Route[] =>
  routes(iconsEndpoints, iconsShapes, {
    preCreateIcon: (ctx, { body }) =>
      preCreateIcon(ctx, { signer, slug: body.slug, variant: body.variant, type: body.content_type }),
    signIcon: (ctx, { body }) => signIcon(ctx, { signer, variant: body.variant, type: body.content_type }),
  });

export const notificationRoutes: Route[] = routes(notificationsEndpoints, notificationsShapes, {
  listNotifications: (ctx, { query }) => listNotifications(ctx, query),
  readNotifications: (ctx, { body }) => readNotifications(ctx, { ids: body.ids ?? 'all' }),
});

export const resourcePresetRoutes: Route[] = routes(resourcePresetsEndpoints, resourcePresetsShapes, {
  listResourcePresets: (ctx, { query }) => listResourcePresets(ctx, query),
});

async function listResourcePresets(ctx: TenantCtx, query: PageQuery) {
  const max = orNotFound((await findTenant(ctx, { ref: ctx.tenant.id }))?.max_resource_tier);
  const presets = resourceTiers.map((name) => ({
    name,
    ...resourcePresetsEndpoints.resourcesOf[name],
    allowed: isWithinTier(name, max),
    default: name === resourcePresetsEndpoints.usualTier(max),
  }));
  return paginate(query, presets);
}
