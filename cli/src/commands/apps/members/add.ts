import { addAppMember } from '@svc/contract/owners.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps members add',
  summary: 'Invite a member of the tenant, who then sees the app while it is invite_only',
  kind: 'mutate',
  flags: {
    ...appFlag,
    user: { type: 'string', placeholder: 'user', required: true, summary: 'User id or e-mail address' },
  },
  endpoint: addAppMember,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    body: { user_id: flags.user },
  }),
  examples: [
    {
      line: 'svc apps members add --app pet-shop --user ada@example.com --execute',
      does: 'Let a colleague see the app',
    },
  ],
});
