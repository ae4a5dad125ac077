import { perPageMax } from '@svc/contract/limits.ts';
import { listTemplates } from '@svc/contract/templates.ts';
import { defineCommand } from '../../../define-command.ts';
import { templateView } from '../../../views/template.ts';

export default defineCommand({
  words: 'apps templates list',
  summary: 'List what an app can be begun from',
  kind: 'read',
  endpoint: listTemplates,
  input: ({ tenant }) => ({ params: { tenantID: tenant }, query: { per_page: perPageMax } }),
  view: templateView,
  examples: [{ line: 'svc apps templates list', does: "The built-in ones and the tenant's own" }],
});
