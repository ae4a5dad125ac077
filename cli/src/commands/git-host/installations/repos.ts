import { listGitRepositories } from '@svc/contract/git-host.ts';
import { defineCommand } from '../../../define-command.ts';
import { installationFlag } from '../../../git-host/installation-flag.ts';
import { pageFlags } from '../../../page-flags.ts';
import { repositoryView } from '../../../views/git.ts';

export default defineCommand({
  words: 'git-host installations repos',
  summary: 'List the repositories of an installation that your account reaches',
  description: 'Where there is one installation only, --installation-id may be left out.',
  kind: 'read',
  flags: { ...installationFlag, ...pageFlags },
  endpoint: listGitRepositories,
  input: async ({ ctx, tenant, flags }) => {
    const { onlyInstallation } = await import('../../../git-host/only-installation.ts');
    const installation = flags['installation-id'] ?? (await onlyInstallation(ctx, tenant));
    return {
      params: { tenantID: tenant, installation },
      query: { page: flags.page, per_page: flags['per-page'] },
    };
  },
  view: repositoryView,
  examples: [
    { line: 'svc git-host installations repos', does: 'What could be connected' },
    { line: 'svc git-host installations repos --installation-id 42 --per-page 100', does: 'Of one of them' },
  ],
});
