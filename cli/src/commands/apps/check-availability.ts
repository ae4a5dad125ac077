import { checkAvailability } from '@svc/contract/app-lists.ts';
import { defineCommand } from '../../define-command.ts';
import { plain } from '../../output.ts';

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
  text: ({ slug, subdomain }) =>
    [slug && { what: 'slug', ...slug }, subdomain && { what: 'subdomain', ...subdomain }]
      .filter((name) => name !== null)
      .map(({ what, name, available, reason, suggestions }) => {
        const free = suggestions.length === 0 ? '' : `; free: ${suggestions.join(', ')}`;
        return `${what} ${plain(name)} is ${available ? 'free' : `${reason}${free}`}\n`;
      })
      .join(''),
  examples: [{ line: 'svc apps check-availability --slug pet-shop --subdomain pets', does: 'Both at once' }],
});
