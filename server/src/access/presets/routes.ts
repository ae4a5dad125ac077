import * as shapes from '@svc/contract/presets.shapes.ts';
import * as endpoints from '@svc/contract/presets.ts';
import { type Route, routes } from '../../http/router.ts';
import { createPreset, deletePreset, getPreset, listPresets, updatePreset } from './presets.ts';

export const presetRoutes: Route[] = routes(endpoints, shapes, {
  listPresets: (ctx, { query }) => listPresets(ctx, query),
  createPreset: (ctx, { body }) => createPreset(ctx, body),
  getPreset: (ctx, { params }) => getPreset(ctx, { preset: params.presetID }),
  updatePreset: (ctx, { params, body }) => updatePreset(ctx, { preset: params.presetID, set: body }),
  deletePreset: (ctx, { params }) => deletePreset(ctx, { preset: params.presetID }),
});
