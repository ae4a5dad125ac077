import * as shapes from '@svc/contract/presets.shapes.ts';
import * as endpoints from '@svc/contract/presets.ts';
import { type Route, route } from '../plumbing/route.ts';
import { createPreset } from './create-preset.ts';
import { deletePreset } from './delete-preset.ts';
import { getPreset } from './get-preset.ts';
import { listPresets } from './list-presets.ts';
import { updatePreset } from './update-preset.ts';

export const presetRoutes: Route[] = [
  route(endpoints.listPresets, shapes.listPresets, (ctx, { query }) => listPresets(ctx, query)),
  route(endpoints.createPreset, shapes.createPreset, (ctx, { body }) => createPreset(ctx, body)),
  route(endpoints.getPreset, shapes.getPreset, (ctx, { params }) =>
    getPreset(ctx, { preset: params.presetID }),
  ),
  route(endpoints.updatePreset, shapes.updatePreset, (ctx, { params, body }) =>
    updatePreset(ctx, { preset: params.presetID, set: body }),
  ),
  route(endpoints.deletePreset, shapes.deletePreset, (ctx, { params }) =>
    deletePreset(ctx, { preset: params.presetID }),
  ),
];
