import { z } from 'zod';
import { actionPattern, actionsPerPresetMax } from './presets.ts';
import { chars, empty, page, pageQuery, ref, slug, tenantParams } from './shapes.ts';

export const Preset = z.object({
  id: z.string(),
  name: z.string(),
  actions: z.array(z.string()),
  description: z.string(),
  built_in: z.boolean(),
  created_at: z.string(),
  updated_at: z.string(),
});

export const actions = z
  .array(z.string().regex(actionPattern, 'must be lower-case letters, digits and _.:-'))
  .min(1)
  .max(actionsPerPresetMax)
  .transform((list) => [...new Set(list)]);

const presetParams = tenantParams.extend({ presetID: ref });

export const listPresets = { params: tenantParams, query: pageQuery, answer: page(Preset) };
export const createPreset = {
  params: tenantParams,
  body: z.strictObject({ name: slug, actions, description: chars(0, 1000).default('') }),
  answer: Preset,
};
export const getPreset = { params: presetParams, answer: Preset };
export const updatePreset = {
  params: presetParams,
  body: z.strictObject({
    name: slug.optional(),
    actions: actions.optional(),
    description: chars(0, 1000).optional(),
  }),
  answer: Preset,
};
export const deletePreset = { params: presetParams, answer: empty };
