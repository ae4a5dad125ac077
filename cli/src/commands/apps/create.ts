import { createApp } from '@svc/contract/apps.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'apps create',
  summary: 'Create an app; you become its owner',
  kind: 'mutate',
  flags: {
    name: { type: 'string', required: true, summary: 'Name that people see' },
    slug: {
      type: 'string',
      placeholder: 'slug',
      summary: 'Short name for commands and addresses; made from the name otherwise',
    },
  },
  endpoint: createApp,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    body: { name: flags.name, slug: flags.slug },
  }),
  examples: [{ line: "svc apps create --name 'Pet Shop' --execute", does: 'An app with the slug pet-shop' }],
});
