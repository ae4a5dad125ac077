import { createPreset, deletePreset, getPreset, listPresets, updatePreset } from '@svc/contract/presets.ts';
import { defineCommand } from '../command.ts';
import { flagFields, pageFlags } from '../inputs/common.ts';
import { presetView } from '../views/access.ts';

export const presetsList = defineCommand({
  words: 'presets list',
  summary: 'List the presets that grants can use',
  kind: 'read',
  flags: pageFlags,
  endpoint: listPresets,
  view: presetView,
  examples: { '': 'List built-in presets, then your own' },
});

export const presetsGet = defineCommand({
  words: 'presets get',
  summary: 'Show one preset',
  kind: 'read',
  positionals: [{ name: 'preset', summary: 'Preset id or name' }],
  endpoint: getPreset,
  examples: { reader: 'Show what a reader may do' },
});

export const presetsCreate = defineCommand({
  words: 'presets create',
  summary: 'Create a preset of allowed actions',
  kind: 'mutate',
  flags: {
    name: { type: 'string', required: true, placeholder: 'slug', summary: 'Name, as a slug' },
    actions: {
      type: 'list',
      required: true,
      placeholder: 'action',
      summary: 'Allowed actions, such as read,export',
    },
    description: { type: 'string', summary: 'Description' },
  },
  endpoint: createPreset,
  input: ({ flags }) => ({
    body: flagFields(flags, 'name', 'actions', 'description'),
  }),
  examples: { '--name exporter --actions read,export --execute': 'Create a preset' },
});

export const presetsUpdate = defineCommand({
  words: 'presets update',
  summary: 'Update a preset and the grants that use it',
  kind: 'mutate',
  positionals: [{ name: 'preset', summary: 'Preset id or name' }],
  flags: {
    name: { type: 'string', placeholder: 'slug', summary: 'New name' },
    actions: { type: 'list', placeholder: 'action', summary: 'Complete new list of actions' },
    description: { type: 'string', summary: 'New description; empty clears it' },
  },
  oneRequired: [['name', 'actions', 'description']],
  endpoint: updatePreset,
  input: ({ flags }) => ({
    body: flagFields(flags, 'name', 'actions', 'description'),
  }),
  examples: { 'exporter --actions read,export,share --execute': 'Allow one more action' },
});

export const presetsDelete = defineCommand({
  words: 'presets delete',
  summary: 'Delete a preset that no active grant uses',
  kind: 'mutate',
  positionals: [{ name: 'preset', summary: 'Preset id or name' }],
  endpoint: deletePreset,
  deletedId: getPreset,
  examples: { 'exporter --execute': 'Delete it' },
});
