import { checkAvailability } from '@svc/contract/app-lists.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'apps check-availability',
  summary: 'Tell whether a slug or a subdomain is free, and what is free like it',
  kind: 'read',
  flags: {
    slug: { type: 'string', placeholder: 'slug', summary: 'Short name within the tenant' },
    subdomain: { type: 'string', placeholder: 'name', summary: 'Host below the apps domain' },
  },
  oneRequired: [['slug', 'subdomain']],
  endpoint: checkAvailability,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: { slug: flags.slug, subdomain: flags.subdomain },
  }),
  examples: [{ line: 'svc apps check-availability --slug pet-shop --subdomain pets', does: 'Both at once' }],
});
