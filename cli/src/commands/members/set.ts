import { tenantRoles } from '@svc/contract/identity.ts';
import { setMember } from '@svc/contract/tenants.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'members set',
  summary: "Add a user to the tenant, or change a member's role",
  kind: 'mutate',
  positionals: [{ name: 'user', summary: 'User id' }],
  flags: { role: { type: 'enum', values: tenantRoles, required: true, summary: 'Role in the tenant' } },
  endpoint: setMember,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, userID: positionals.user },
    body: { role: flags.role },
  }),
  examples: [
    {
      line: 'svc members set 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --role tenant_admin --execute',
      does: 'Make somebody an admin',
    },
  ],
});
