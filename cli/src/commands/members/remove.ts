import { removeMember } from '@svc/contract/tenants.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'members remove',
  summary: 'Remove a member from the tenant; their access ends at once',
  kind: 'mutate',
  positionals: [{ name: 'user', summary: 'User id' }],
  endpoint: removeMember,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, userID: positionals.user } }),
  examples: [
    { line: 'svc members remove 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --execute', does: 'Remove somebody' },
  ],
});
