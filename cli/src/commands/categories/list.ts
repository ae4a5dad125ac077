import { listCategories } from '@svc/contract/categories.ts';
import { defineCommand } from '../../define-command.ts';
import { pageFlags } from '../../page-flags.ts';
import { categoryView } from '../../views/category.ts';

export default defineCommand({
  words: 'categories list',
  summary: 'List the categories that apps may stand in',
  kind: 'read',
  flags: pageFlags,
  endpoint: listCategories,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: categoryView,
  examples: [{ line: 'svc categories list --all', does: 'Every category, by display order and name' }],
});
