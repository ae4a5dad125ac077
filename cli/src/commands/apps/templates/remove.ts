import { deleteTemplate } from '@svc/contract/templates.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps templates remove',
  summary: 'Take a template of the tenant away (tenant admins); apps made from it stay',
  kind: 'mutate',
  positionals: [{ name: 'template', summary: 'Id of the template, as list shows it' }],
  endpoint: deleteTemplate,
  input: ({ tenant, positionals }) => ({
    params: { tenantID: tenant, template: positionals.template },
  }),
  examples: [
    {
      line: 'svc apps templates remove 01977777-7777-7777-8777-777777777777 --execute',
      does: 'It can not be begun with any more',
    },
  ],
});
