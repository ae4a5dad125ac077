import { deleteCategory } from '@svc/contract/categories.ts';
import { defineCommand } from '../../define-command.ts';
import {
  categoryIdFlag,
  categoryOf,
  categoryPositional,
  refuseTwoCategories,
} from '../../inputs/category.ts';

export default defineCommand({
  words: 'categories delete',
  summary: 'Delete a category (tenant admins); apps in it stand in none then',
  kind: 'mutate',
  confirm: true,
  positionals: [categoryPositional],
  flags: categoryIdFlag,
  oneRequired: [['id']],
  check: refuseTwoCategories,
  endpoint: deleteCategory,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, categoryID: categoryOf({ flags, positionals }) },
  }),
  examples: [
    { line: 'svc categories delete finance --execute --yes', does: 'Delete it without being asked' },
  ],
});
