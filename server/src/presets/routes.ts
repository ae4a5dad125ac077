import * as shapes from '@svc/contract/presets.shapes.ts';
import * as endpoints from '@svc/contract/presets.ts';
import { type Route, tenantChange, tenantRead } from '../plumbing/route.ts';
import { createPreset } from './create-preset.ts';
import { deletePreset } from './delete-preset.ts';
import { getPreset } from './get-preset.ts';
import { listPresets } from './list-presets.ts';
import { updatePreset } from './update-preset.ts';

export const presetRoutes: Route[] = [
  tenantRead(endpoints.listPresets, shapes.listPresets, (ctx, { query }) => listPresets(ctx, query)),
  tenantChange(endpoints.createPreset, shapes.createPreset, (ctx, { body }) => createPreset(ctx, body)),
  tenantRead(endpoints.getPreset, shapes.getPreset, (ctx, { params }) =>
    getPreset(ctx, { preset: params.presetID }),
  ),
  tenantChange(endpoints.updatePreset, shapes.updatePreset, (ctx, { params, body }) =>
    updatePreset(ctx, { preset: params.presetID, set: body }),
  ),
  tenantChange(endpoints.deletePreset, shapes.deletePreset, (ctx, { params }) =>
    deletePreset(ctx, { preset: params.presetID }),
  ),
];
