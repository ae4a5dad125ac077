import { getCategory } from '@svc/contract/categories.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'categories get',
  summary: 'Show one category',
  kind: 'read',
  positionals: [{ name: 'id', summary: 'Category id or slug' }],
  endpoint: getCategory,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, categoryID: positionals.id } }),
  examples: [{ line: 'svc categories get finance', does: 'By its slug' }],
});
