import { updatePreset } from '@svc/contract/presets.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'presets update',
  summary: 'Change a preset; grants that use it change with it',
  kind: 'mutate',
  positionals: [{ name: 'preset', summary: 'Preset id or name' }],
  flags: {
    name: { type: 'string', placeholder: 'slug', summary: 'New name' },
    actions: { type: 'list', placeholder: 'action', summary: 'The whole new list of actions' },
    description: { type: 'string', summary: 'New description; empty clears it' },
  },
  oneRequired: [['name', 'actions', 'description']],
  endpoint: updatePreset,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, presetID: positionals.preset },
    body: { name: flags.name, actions: flags.actions, description: flags.description },
  }),
  examples: [
    {
      line: 'svc presets update exporter --actions read,export,share --execute',
      does: 'Allow one action more',
    },
  ],
});
