import { replaceGrantScope, scopeEntriesMax } from '@svc/contract/grants.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'grants scope set',
  summary: 'Replace the whole scope of a grant',
  kind: 'mutate',
  positionals: [
    { name: 'grant', summary: 'Grant id' },
    {
      name: 'paths',
      summary: `What it reaches from now on: schema or schema/table, at most ${scopeEntriesMax}`,
      optional: true,
      repeated: true,
    },
  ],
  flags: { clear: { type: 'boolean', summary: 'Let it reach the whole connector again' } },
  oneRequired: [['paths', 'clear']],
  check: ({ flags, positionals }) =>
    flags.clear && positionals.paths.length > 0 ? '--clear and paths exclude each other.' : undefined,
  endpoint: replaceGrantScope,
  input: ({ tenant, positionals }) => ({
    params: { tenantID: tenant, grantID: positionals.grant },
    body: positionals.paths,
  }),
  examples: [
    {
      line: 'svc grants scope set 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c sales hr/people --execute',
      does: 'One schema and one table, nothing else',
    },
    {
      line: 'svc grants scope set 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --clear',
      does: 'Preview whole-connector scope',
    },
  ],
});
