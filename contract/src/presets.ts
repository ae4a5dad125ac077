import { endpoint, who } from './endpoint.ts';
import type * as shapes from './presets.shapes.ts';

export const actionPattern = /^[a-z][a-z0-9_.:-]{0,63}$/;
export const actionsPerPresetMax = 50;

/** Present in every tenant; their id is their name, so that scripts need no look-up. */
export const builtInPresets = [
  { id: 'reader', name: 'reader', actions: ['read'], description: 'May read.' },
  { id: 'writer', name: 'writer', actions: ['read', 'write'], description: 'May read and write.' },
  {
    id: 'admin',
    name: 'admin',
    actions: ['read', 'write', 'delete', 'admin'],
    description: 'May do everything the connector offers.',
  },
] as const;

const admin = { credential: 'login', role: 'tenant_admin', outsider: 'forbidden' } as const;
const adminsOnly = who('O:n C:n A:y M:n P:n N:n X:n');
const collection = '/api/v1/tenants/{tenantID}/presets';

export const listPresets = endpoint<typeof shapes.listPresets>()({
  id: 'presets.list',
  method: 'GET',
  path: collection,
  summary: 'The presets grants can use: the built-in ones, then the own ones of the tenant',
  kind: 'read',
  authority: admin,
  who: adminsOnly,
  status: 200,
});

export const createPreset = endpoint<typeof shapes.createPreset>()({
  id: 'presets.create',
  method: 'POST',
  path: collection,
  summary: 'Name a set of allowed actions',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 201,
  errors: ['unique_violation'],
});

export const getPreset = endpoint<typeof shapes.getPreset>()({
  id: 'presets.get',
  method: 'GET',
  path: `${collection}/{presetID}`,
  summary: 'One preset',
  kind: 'read',
  authority: admin,
  who: adminsOnly,
  status: 200,
  errors: ['not_found'],
});

export const updatePreset = endpoint<typeof shapes.updatePreset>()({
  id: 'presets.update',
  method: 'PATCH',
  path: `${collection}/{presetID}`,
  summary: 'Change a preset; grants that use it change with it',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 200,
  errors: ['not_found', 'preset_built_in', 'unique_violation'],
});

export const deletePreset = endpoint<typeof shapes.deletePreset>()({
  id: 'presets.delete',
  method: 'DELETE',
  path: `${collection}/{presetID}`,
  summary: 'Delete a preset that no active grant uses',
  kind: 'mutate',
  authority: admin,
  who: adminsOnly,
  status: 204,
  errors: ['not_found', 'preset_built_in', 'preset_in_use'],
});
