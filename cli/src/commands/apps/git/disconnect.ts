import { disconnectGit } from '@svc/contract/git-connections.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps git disconnect',
  summary: 'Disconnect the repository; what is deployed stays, and the repository too',
  kind: 'mutate',
  flags: appFlag,
  endpoint: disconnectGit,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app } }),
  examples: [{ line: 'svc apps git disconnect --app pet-shop --execute', does: 'Pushes deploy no more' }],
});
