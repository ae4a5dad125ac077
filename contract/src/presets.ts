import { accessAdmins, change, read, remove, update } from './endpoint.ts';
import type * as shapes from './presets.shapes.ts';

export const actionPattern = /^[a-z][a-z0-9_.:-]{0,63}$/;
export const actionsPerPresetMax = 50;

/** Present in every tenant; their id is their name, so that scripts need no look-up. */
export const builtInPresets = [
  { id: 'reader', name: 'reader', actions: ['read'], description: 'May read rows.' },
  {
    id: 'writer',
    name: 'writer',
    // `write` is for connectors to outside systems.
    actions: ['read', 'insert', 'update', 'delete', 'write'],
    description: 'May read, insert, update and delete rows.',
  },
  {
    id: 'admin',
    name: 'admin',
    actions: ['read', 'export', 'insert', 'update', 'delete', 'write', 'admin'],
    description: 'May do everything the connector offers, exports included.',
  },
] as const;

const collection = '/api/v1/tenants/{tenantID}/presets';

export const listPresets = read<typeof shapes.listPresets>()({
  id: 'presets.list',
  path: collection,
  summary: "List the presets for grants: built-in ones first, then the tenant's own",
  ...accessAdmins,
});

export const createPreset = change<typeof shapes.createPreset>()({
  id: 'presets.create',
  path: collection,
  summary: 'Create a preset: a named set of allowed actions',
  ...accessAdmins,
  errors: ['unique_violation'],
});

export const getPreset = read<typeof shapes.getPreset>()({
  id: 'presets.get',
  path: `${collection}/{presetID}`,
  summary: 'Get a preset',
  ...accessAdmins,
});

export const updatePreset = update<typeof shapes.updatePreset>()({
  id: 'presets.update',
  path: `${collection}/{presetID}`,
  summary: 'Update a preset; grants that use it change with it',
  ...accessAdmins,
  errors: ['preset_built_in', 'unique_violation'],
});

export const deletePreset = remove<typeof shapes.deletePreset>()({
  id: 'presets.delete',
  path: `${collection}/{presetID}`,
  summary: 'Delete a preset that no active grant uses',
  ...accessAdmins,
  errors: ['preset_built_in', 'preset_in_use'],
});
