import { removeCoOwner } from '@svc/contract/apps.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps co-owners remove',
  summary: 'End a co-ownership; access that is for owners alone ends at once',
  kind: 'mutate',
  flags: {
    ...appFlag,
    user: { type: 'string', placeholder: 'user', required: true, summary: 'User id or e-mail address' },
  },
  endpoint: removeCoOwner,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app, userID: flags.user } }),
  examples: [
    {
      line: 'svc apps co-owners remove --app pet-shop --user ada@example.com --execute',
      does: 'Remove a co-owner, or step down',
    },
  ],
});
