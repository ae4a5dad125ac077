import { deletePolicy } from '@svc/contract/access-policies.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'policies delete',
  summary: 'Delete an access policy that no active grant names',
  kind: 'mutate',
  positionals: [{ name: 'policy', summary: 'Policy id' }],
  endpoint: deletePolicy,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, policyID: positionals.policy } }),
  examples: [
    { line: 'svc policies delete 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --execute', does: 'Delete it' },
  ],
});
