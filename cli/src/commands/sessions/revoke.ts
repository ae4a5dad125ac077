import { revokeSession } from '@svc/contract/identity.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'sessions revoke',
  summary: 'End one of your sign-ins; its tokens stop working at once',
  kind: 'mutate',
  positionals: [{ name: 'session', summary: 'Session id, from svc sessions list' }],
  endpoint: revokeSession,
  input: ({ positionals }) => ({ params: { sessionID: positionals.session } }),
  examples: [{ line: 'svc sessions revoke 7Hq2mXc0 --execute', does: 'Sign a lost laptop out' }],
});
