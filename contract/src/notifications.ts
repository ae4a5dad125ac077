import { endpoint, who } from './endpoint.ts';
import type * as shapes from './notifications.shapes.ts';

/** What people are told of. */
export const notificationKinds = [
  'publication_requested',
  'publication_approved',
  'publication_rejected',
  'publication_superseded',
  'publication_expired',
  /** By somebody else than who asked. */
  'publication_withdrawn',
  'promotion_requested',
  'promotion_approved',
  'promotion_rejected',
  /** Still served, for now: the owners can mend it before it is disconnected. */
  'domain_failing',
  'domain_disconnected',
  'co_owner_added',
  'ownership_transferred',
  'deployment_failed',
  /** Of an admin who is none any more; the one thing that is told also to who is no member any more. */
  'role_changed',
] as const;
export type NotificationKind = (typeof notificationKinds)[number];

export const notificationTitleCharsMax = 200;
export const notificationTextCharsMax = 2_000;
export const notificationDaysKept = 90;
/** What could not be sent as e-mail for this long is not news any more. */
export const notificationMailHoursMax = 24;
export const notificationIdsMax = 200;

const collection = '/api/v1/tenants/{tenantID}/me/notifications';
const member = { credential: 'login', role: 'tenant_member', outsider: 'not_found' } as const;
const own = who('O:own C:own A:own M:own P:n N:n X:n');

export const listNotifications = endpoint<typeof shapes.listNotifications>()({
  id: 'notifications.list',
  method: 'GET',
  path: collection,
  summary: 'What the caller was told, newest first, and how much of it is unread',
  kind: 'read',
  authority: member,
  who: own,
  status: 200,
  errors: ['invalid_cursor'],
});

export const readNotifications = endpoint<typeof shapes.readNotifications>()({
  id: 'notifications.read',
  method: 'POST',
  path: `${collection}/read`,
  summary: "Mark some or all of the caller's notifications as read",
  kind: 'mutate',
  authority: member,
  who: own,
  status: 200,
});
