import { createCategory } from '@svc/contract/categories.ts';
import { defineCommand } from '../../define-command.ts';
import { categoryFlags } from '../../inputs/category.ts';

export default defineCommand({
  words: 'categories create',
  summary: 'Create a category (tenant admins)',
  kind: 'mutate',
  flags: {
    name: { type: 'string', required: true, summary: 'Name that people see' },
    slug: {
      type: 'string',
      placeholder: 'slug',
      summary: 'Short name for commands; made from the name otherwise',
    },
    ...categoryFlags,
  },
  endpoint: createCategory,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    body: {
      name: flags.name,
      slug: flags.slug,
      description: flags.description,
      color: flags.color,
      icon_url: flags['icon-url'],
      display_order: flags['display-order'],
    },
  }),
  examples: [
    {
      line: "svc categories create --name Finance --color '#00897b' --display-order 10 --execute",
      does: 'A category that stands behind those of a lower order',
    },
  ],
});
