import * as shapes from '@svc/contract/notifications.shapes.ts';
import * as endpoints from '@svc/contract/notifications.ts';
import { type Route, routes } from '../../http/router.ts';
import { listNotifications, readNotifications } from './notifications.ts';

export const notificationRoutes: Route[] = routes(endpoints, shapes, {
  listNotifications: (ctx, { query }) => listNotifications(ctx, query),
  readNotifications: (ctx, { body }) => readNotifications(ctx, { ids: body.ids ?? 'all' }),
});
