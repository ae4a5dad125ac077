import { onAccess } from '../access/access-events.ts';
import { saveRevocations } from '../access/grants/end-grants.ts';
import { createTaggedCache } from '../core/cache.ts';
import type { DriverDeps } from '../drivers/deps.ts';
import type { MailConfig } from '../drivers/mail/mail.ts';
import { openSmtpMail } from '../drivers/mail/smtp-mail.ts';
import { under } from '../http/front.ts';
import type { Module } from '../http/module.ts';
import { onPerson } from '../people/person-events.ts';
import { endRequestsOfUser } from './access-requests/access-requests.ts';
import { onApp } from './app-events.ts';
import {
  createIcons,
  deleteOrphanedIconObjects,
  deleteUnusedIcons,
  iconsPrefix,
  purgeIcons,
  removeIconObjects,
} from './icons/icons.ts';
import { mailNotification } from './notifications/mail-notification.ts';
import {
  deleteOldNotifications,
  mailTopic,
  notify,
  notifyFormerAdmin,
} from './notifications/notifications.ts';
import { createAppAccess } from './record/app-access.ts';
import { warnAboutAppsAboveTier } from './record/apps.ts';
import { findOwnedAppId } from './record/find-app.ts';
import { purgeDueApps } from './record/lifecycle.ts';
import { removeGroupFromApps } from './record/member-groups.ts';
import { endRolesOfUser } from './record/people.ts';
import { deleteExpiredNames } from './record/store.ts';
import { detachCategory } from './record/update-app.ts';
import { endAppRolesOfUser } from './roles/roles.ts';
import {
  accessRequestRoutes,
  appRoleRoutes,
  categoryRoutes,
  createAppRoutes,
  iconRoutes,
  notificationRoutes,
  resourcePresetRoutes,
} from './routes.ts';

export interface AppsServices {
  appAccess: ReturnType<typeof createAppAccess>;
  findOwnedAppId: typeof findOwnedAppId;
}

export const apps: Module = {
  name: 'apps',
  open: ({ db, invalidation }: DriverDeps): AppsServices => ({
    appAccess: createAppAccess({ db, cache: createTaggedCache(invalidation, { entriesMax: 10_000 }) }),
    findOwnedAppId,
  }),
  routes: ({ config, urlKey }) => [
    ...notificationRoutes,
    ...createAppRoutes(config),
    ...accessRequestRoutes,
    ...categoryRoutes(config),
    ...resourcePresetRoutes,
    ...appRoleRoutes,
    ...iconRoutes({ baseUrl: config.baseUrl, key: urlKey }),
  ],
  handlers: (deps: DriverDeps) => [
    {
      matches: under(iconsPrefix),
      limit: 'own',
      handle: createIcons({ ...deps, signer: { baseUrl: deps.config.baseUrl, key: deps.urlKey } }),
    },
  ],
  effects: ({ db, log, now, objects, config }: DriverDeps & { config: { mail: MailConfig | null } }) => ({
    'icons.remove': removeIconObjects({ objects }),
    'categories.detach': detachCategory({ db }),
    [mailTopic]: mailNotification({
      db,
      log,
      now,
      baseUrl: config.baseUrl,
      mail: config.mail && openSmtpMail(config.mail),
    }),
  }),
  jobs: (deps: DriverDeps) => [
    { name: 'icons.sweep', cron: '47 * * * *', run: () => deleteUnusedIcons(deps) },
    {
      name: 'icons.objects',
      cron: '57 4 * * *',
      run: () => deleteOrphanedIconObjects({ ...deps, now: deps.now() }),
    },
    { name: 'apps.purge', cron: '37 * * * *', run: () => purgeDueApps(deps) },
    {
      name: 'notifications.sweep',
      cron: '47 3 * * *',
      run: async () => void (await deleteOldNotifications(deps.db, { now: deps.now() })),
    },
    { name: 'names.forget', cron: '27 3 * * *', run: () => deleteExpiredNames(deps.db) },
  ],
  subscriptions: () => [
    onApp({
      purged: async (ctx, app) => {
        const subject = { kind: 'app', id: app.appId } as const;
        const reason = 'The app was deleted permanently.';
        const changes = await saveRevocations(ctx, { tenantId: app.tenantId, subject, reason });
        return { removed: await purgeIcons(ctx, app), changes };
      },
    }),
    onAccess({ notice: notify }),
    onPerson({ leftTenant: endAppRolesOfUser, deactivated: endAppRolesOfUser }),
    onPerson({ leftTenant: endRequestsOfUser, deactivated: endRequestsOfUser }),
    onPerson({
      roleChanged: notifyFormerAdmin,
      leftTenant: endRolesOfUser,
      deactivated: endRolesOfUser,
      groupDeleted: removeGroupFromApps,
      maxTierChanged: warnAboutAppsAboveTier,
    }),
  ],
};
