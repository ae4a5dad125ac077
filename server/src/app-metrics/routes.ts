import * as shapes from '@svc/contract/app-metrics.shapes.ts';
import * as endpoints from '@svc/contract/app-metrics.ts';
import { type Route, route } from '../plumbing/route.ts';
import { getAppMetrics } from './get-app-metrics.ts';

export const appMetricsRoutes: readonly Route[] = [
  route(endpoints.getAppMetrics, shapes.getAppMetrics, (ctx, { query }) => getAppMetrics(ctx, query)),
];
