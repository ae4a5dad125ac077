import * as shapes from '@svc/contract/app-metrics.shapes.ts';
import * as endpoints from '@svc/contract/app-metrics.ts';
import { type Route, routes } from '../../http/router.ts';
import { getAppMetrics } from './get-app-metrics.ts';

export const appMetricsRoutes: readonly Route[] = routes(endpoints, shapes, {
  getAppMetrics: (ctx, { query }) => getAppMetrics(ctx, query),
});
