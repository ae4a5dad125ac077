import { act, ownRecords, read } from './endpoint.ts';
import type * as shapes from './notifications.shapes.ts';

export const notificationKinds = [
  'publication_requested',
  'publication_approved',
  'publication_rejected',
  'publication_superseded',
  'publication_expired',
  'publication_withdrawn',
  'promotion_requested',
  'promotion_approved',
  'promotion_rejected',
  'domain_failing',
  'domain_disconnected',
  'app_access_requested',
  'app_access_accepted',
  'app_access_refused',
  'co_owner_added',
  'ownership_transferred',
  'deployment_failed',
  'schedule_failed',
  'access_requested',
  'access_approved',
  'access_rejected',
  'access_expired',
  'access_ending',
  /** Also sent to a user who is no longer a member. */
  'role_changed',
] as const;
export type NotificationKind = (typeof notificationKinds)[number];

export const notificationTitleCharsMax = 200;
export const notificationTextCharsMax = 2_000;
export const notificationRetentionDays = 90;
/** Older notifications are not sent by e-mail any more. */
export const notificationMailHoursMax = 24;
export const notificationIdsMax = 200;

const collection = '/api/v1/tenants/{tenantID}/me/notifications';

export const listNotifications = read<typeof shapes.listNotifications>()({
  id: 'notifications.list',
  path: collection,
  summary: 'List your notifications, newest first, with the number of unread ones',
  ...ownRecords,
  errors: ['invalid_cursor'],
});

export const readNotifications = act<typeof shapes.readNotifications>()({
  id: 'notifications.read',
  path: `${collection}/read`,
  summary: 'Mark some or all of your notifications as read',
  ...ownRecords,
});
