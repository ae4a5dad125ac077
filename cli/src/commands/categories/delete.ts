import { deleteCategory, getCategory } from '@svc/contract/categories.ts';
import { defineCommand } from '../../define-command.ts';
import {
  categoryIdFlag,
  categoryOf,
  categoryPositional,
  refuseTwoCategories,
} from '../../inputs/category.ts';
import { idOf } from '../../inputs/id-of.ts';

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
  deletedId: async (ctx, { params }) => {
    const client = await ctx.client();
    return idOf(params.categoryID, () => client.call(getCategory, { params }, { signal: ctx.signal }));
  },
  examples: [
    { line: 'svc categories delete finance --execute --yes', does: 'Delete it without being asked' },
  ],
});
