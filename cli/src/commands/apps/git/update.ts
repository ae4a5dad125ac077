import { updateGit } from '@svc/contract/git-connections.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { connectionView } from '../../../views/git.ts';

export default defineCommand({
  words: 'apps git update',
  summary: 'Deploy from another branch from now on',
  kind: 'mutate',
  flags: { ...appFlag, branch: { type: 'string', required: true, summary: 'The branch' } },
  endpoint: updateGit,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    body: { branch: flags.branch },
  }),
  view: connectionView,
  settle: async (ctx, made) => (await import('../../../git-host/note-unchanged.ts')).noteUnchanged(ctx, made),
  examples: [
    {
      line: 'svc apps git update --app pet-shop --branch release --execute',
      does: 'Deploy pushes to release',
    },
  ],
});
