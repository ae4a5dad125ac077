import { revokeGrant } from '@svc/contract/grants.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'grants revoke',
  summary: 'Revoke a grant for good',
  kind: 'mutate',
  positionals: [{ name: 'grant', summary: 'Grant id' }],
  flags: { reason: { type: 'string', summary: 'Why, for those who read it later' } },
  endpoint: revokeGrant,
  input: ({ tenant, positionals, flags }) => ({
    params: { tenantID: tenant, grantID: positionals.grant },
    body: flags.reason === undefined ? undefined : { reason: flags.reason },
  }),
  examples: [
    { line: 'svc grants revoke 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c', does: 'See what would change' },
    {
      line: "svc grants revoke 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --reason 'left the team' --execute",
      does: 'Revoke it',
    },
  ],
});
