import * as shapes from '@svc/contract/resource-presets.shapes.ts';
import * as endpoints from '@svc/contract/resource-presets.ts';
import { type Route, routes } from '../../http/router.ts';
import { listResourcePresets } from './resource-presets.ts';

export const resourcePresetRoutes: Route[] = routes(endpoints, shapes, {
  listResourcePresets: (ctx, { query }) => listResourcePresets(ctx, query),
});
