import { revokeTableGrant } from '@svc/contract/tables.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { tableFlag } from '../../../inputs/table.ts';

export default defineCommand({
  words: 'tables grants revoke',
  summary: 'End a table grant at once',
  kind: 'mutate',
  flags: {
    ...appFlag,
    ...tableFlag,
    'grant-id': { type: 'string', placeholder: 'id', required: true, summary: 'Grant id' },
  },
  endpoint: revokeTableGrant,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app, table: flags.table, grantID: flags['grant-id'] },
  }),
  examples: [
    {
      line: 'svc tables grants revoke --app shop --table pets --grant-id 0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c --execute',
      does: 'By its id',
    },
  ],
});
