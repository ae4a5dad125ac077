import { listGitAccounts } from '@svc/contract/git-host.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { defineCommand } from '../../../define-command.ts';
import { gitAccountView } from '../../../views/git.ts';

export default defineCommand({
  words: 'git-host accounts list',
  summary: 'List your accounts at the git host that are linked here',
  description: 'With the git host that is built in nobody has to link anything: the list may well be empty.',
  kind: 'read',
  endpoint: listGitAccounts,
  input: ({ tenant }) => ({ params: { tenantID: tenant }, query: { per_page: perPageMax } }),
  view: gitAccountView,
  examples: [{ line: 'svc git-host accounts list', does: 'Who you are at the git host' }],
});
