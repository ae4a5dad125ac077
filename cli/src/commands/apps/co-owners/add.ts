import { addCoOwner } from '@svc/contract/apps.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps co-owners add',
  summary: 'Make a member of the tenant a co-owner of an app',
  kind: 'mutate',
  flags: {
    ...appFlag,
    user: { type: 'string', placeholder: 'user', required: true, summary: 'User id or e-mail address' },
  },
  endpoint: addCoOwner,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    body: { user_id: flags.user },
  }),
  examples: [
    {
      line: 'svc apps co-owners add --app pet-shop --user ada@example.com --execute',
      does: 'Share the app with a colleague',
    },
  ],
});
