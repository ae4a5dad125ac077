import { getGrant } from '@svc/contract/grants.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'grants get',
  summary: 'Show one grant',
  kind: 'read',
  positionals: [{ name: 'grant', summary: 'Grant id' }],
  endpoint: getGrant,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, grantID: positionals.grant } }),
  examples: [
    { line: 'svc grants get 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c', does: 'One grant with all its fields' },
  ],
});
