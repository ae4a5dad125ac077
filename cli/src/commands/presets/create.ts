import { createPreset } from '@svc/contract/presets.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'presets create',
  summary: 'Name a set of allowed actions',
  kind: 'mutate',
  flags: {
    name: { type: 'string', required: true, placeholder: 'slug', summary: 'Its name, as a slug' },
    actions: {
      type: 'list',
      required: true,
      placeholder: 'action',
      summary: 'What it allows, such as read,export',
    },
    description: { type: 'string', summary: 'What it is for' },
  },
  endpoint: createPreset,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    body: { name: flags.name, actions: flags.actions, description: flags.description },
  }),
  examples: [
    {
      line: 'svc presets create --name exporter --actions read,export --execute',
      does: 'A preset of your own',
    },
  ],
});
