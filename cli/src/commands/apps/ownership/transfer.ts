import { transferOwnership } from '@svc/contract/owners.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { transferView } from '../../../views/transfer.ts';

export default defineCommand({
  words: 'apps ownership transfer',
  summary: 'Hand an app over to another member of the tenant; you stay as a co-owner',
  description:
    'Only its representative owner hands an app over, and only the new one can hand it back. A tenant admin does it in ' +
    'place of an owner who is suspended or has left the tenant.',
  kind: 'mutate',
  confirm: true,
  flags: {
    ...appFlag,
    to: { type: 'string', placeholder: 'user', required: true, summary: 'User id or e-mail address' },
  },
  endpoint: transferOwnership,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app }, body: { to: flags.to } }),
  view: transferView,
  examples: [
    {
      line: 'svc apps ownership transfer --app pet-shop --to ada@example.com',
      does: 'See what would change',
    },
    {
      line: 'svc apps ownership transfer --app pet-shop --to ada@example.com --execute --yes',
      does: 'Hand it over without being asked',
    },
  ],
});
