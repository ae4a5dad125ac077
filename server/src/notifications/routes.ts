import * as shapes from '@svc/contract/notifications.shapes.ts';
import * as endpoints from '@svc/contract/notifications.ts';
import { type Route, route } from '../plumbing/route.ts';
import { listNotifications } from './list-notifications.ts';
import { readNotifications } from './read-notifications.ts';

export const notificationRoutes: Route[] = [
  route(endpoints.listNotifications, shapes.listNotifications, (ctx, { query }) =>
    listNotifications(ctx, query),
  ),
  route(endpoints.readNotifications, shapes.readNotifications, (ctx, { body }) =>
    readNotifications(ctx, { ids: body.ids ?? 'all' }),
  ),
];
