import * as shapes from '@svc/contract/resource-presets.shapes.ts';
import * as endpoints from '@svc/contract/resource-presets.ts';
import { type Route, route } from '../plumbing/route.ts';
import { listResourcePresets } from './list-resource-presets.ts';

export const resourcePresetRoutes: Route[] = [
  route(endpoints.listResourcePresets, shapes.listResourcePresets, (ctx, { query }) =>
    listResourcePresets(ctx, query),
  ),
];
