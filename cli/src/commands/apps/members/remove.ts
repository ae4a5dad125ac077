import { removeAppMember } from '@svc/contract/owners.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps members remove',
  summary: 'Take an invitation back; access by it ends at once',
  kind: 'mutate',
  flags: {
    ...appFlag,
    user: { type: 'string', placeholder: 'user', required: true, summary: 'User id or e-mail address' },
  },
  endpoint: removeAppMember,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app, userID: flags.user } }),
  examples: [
    {
      line: 'svc apps members remove --app pet-shop --user ada@example.com --execute',
      does: 'Remove somebody, or leave',
    },
  ],
});
