import { updateCategory } from '@svc/contract/categories.ts';
import { defineCommand } from '../../define-command.ts';
import {
  categoryFlags,
  categoryIdFlag,
  categoryOf,
  categoryPositional,
  refuseTwoCategories,
} from '../../inputs/category.ts';

export default defineCommand({
  words: 'categories update',
  summary: 'Change a category (tenant admins)',
  kind: 'mutate',
  positionals: [categoryPositional],
  flags: {
    ...categoryIdFlag,
    name: { type: 'string', summary: 'New name; the slug stays' },
    slug: { type: 'string', placeholder: 'slug', summary: 'New short name for commands' },
    ...categoryFlags,
  },
  oneRequired: [['id'], ['name', 'slug', 'description', 'color', 'icon-url', 'display-order']],
  check: refuseTwoCategories,
  endpoint: updateCategory,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, categoryID: categoryOf({ flags, positionals }) },
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
    { line: 'svc categories update finance --display-order 20 --execute', does: 'Move it in lists' },
  ],
});
