import { completeGitConnection } from '@svc/contract/git-host.ts';
import { defineCommand } from '../../define-command.ts';
import { installationFlag } from '../../git-host/installation-flag.ts';
import { connectionView } from '../../views/git.ts';

export default defineCommand({
  words: 'git-host complete',
  summary: 'Finish a connection that svc apps git connect began and a browser went on with',
  description: 'A state counts once, for who began with it, and for 15 minutes.',
  kind: 'mutate',
  flags: {
    state: { type: 'string', placeholder: 'state', required: true, summary: 'What it was begun with' },
    ...installationFlag,
    repo: {
      type: 'string',
      placeholder: 'owner/name',
      summary: 'The repository, where it was not said at the beginning',
    },
    branch: { type: 'string', summary: 'The branch, in place of that of the beginning' },
  },
  endpoint: completeGitConnection,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    body: {
      state: flags.state,
      installation_id: flags['installation-id'],
      repo: flags.repo,
      branch: flags.branch,
    },
  }),
  view: connectionView,
  examples: [
    { line: 'svc git-host complete --state a1b2c3 --execute', does: 'Connect what was begun' },
    {
      line: 'svc git-host complete --state a1b2c3 --installation-id 42 --repo acme/shop --branch main --execute',
      does: 'And say which repository',
    },
  ],
});
