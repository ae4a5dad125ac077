import { getGitConnection } from '@svc/contract/git-connections.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { gitStatusView } from '../../../views/git.ts';

export default defineCommand({
  words: 'apps git status',
  summary: 'Which repository and branch an app is deployed from, and what came last',
  kind: 'read',
  flags: appFlag,
  endpoint: getGitConnection,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app } }),
  view: gitStatusView,
  examples: [{ line: 'svc apps git status --app pet-shop', does: 'Where pushes come from' }],
});
