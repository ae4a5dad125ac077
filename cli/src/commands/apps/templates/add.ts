import { createTemplate } from '@svc/contract/templates.ts';
import { defineCommand } from '../../../define-command.ts';
import { templateView } from '../../../views/template.ts';

export default defineCommand({
  words: 'apps templates add',
  summary: 'Make a repository of the git host a template of the tenant (tenant admins)',
  kind: 'mutate',
  flags: {
    repo: { type: 'string', placeholder: 'owner/name', required: true, summary: 'The repository' },
    ref: { type: 'string', summary: "A branch, a tag or a commit; the repository's own branch otherwise" },
    name: { type: 'string', required: true, summary: 'Name that people see' },
    description: { type: 'string', summary: 'What an app begins with that is made from it' },
    alias: { type: 'string', placeholder: 'slug', summary: 'A short name beside its id' },
  },
  endpoint: createTemplate,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    body: {
      repo: flags.repo,
      ref: flags.ref,
      name: flags.name,
      description: flags.description,
      alias: flags.alias,
    },
  }),
  view: templateView,
  examples: [
    {
      line: "svc apps templates add --repo acme/house-style --name 'House style' --alias house --execute",
      does: 'From now on svc apps bootstrap --template house begins with it',
    },
  ],
});
