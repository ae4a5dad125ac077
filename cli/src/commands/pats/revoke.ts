import { revokePat } from '@svc/contract/identity.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'pats revoke',
  summary: 'Revoke a personal access token',
  kind: 'mutate',
  positionals: [{ name: 'pat', summary: 'Token id, from svc pats list' }],
  endpoint: revokePat,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, patID: positionals.pat } }),
  examples: [{ line: 'svc pats revoke 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --execute', does: 'End it now' }],
});
