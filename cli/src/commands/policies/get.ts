import { getPolicy } from '@svc/contract/access-policies.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'policies get',
  summary: 'Show one access policy',
  kind: 'read',
  positionals: [{ name: 'policy', summary: 'Policy id' }],
  endpoint: getPolicy,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, policyID: positionals.policy } }),
  examples: [
    {
      line: 'svc policies get 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c -o yaml',
      does: 'As YAML, to edit and send back',
    },
  ],
});
