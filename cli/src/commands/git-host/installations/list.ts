import { listGitInstallations } from '@svc/contract/git-host.ts';
import { defineCommand } from '../../../define-command.ts';
import { pageFlags } from '../../../page-flags.ts';
import { installationView } from '../../../views/git.ts';

export default defineCommand({
  words: 'git-host installations list',
  summary: 'List where the app of the git host is installed, as far as your account reaches',
  kind: 'read',
  flags: pageFlags,
  endpoint: listGitInstallations,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: installationView,
  examples: [{ line: 'svc git-host installations list', does: 'Accounts and what of theirs is reached' }],
});
