import { unlinkGitAccount } from '@svc/contract/git-host.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'git-host accounts unlink',
  summary: 'Forget an account at the git host; apps that are connected stay so',
  kind: 'mutate',
  positionals: [{ name: 'account', summary: 'Id of the account, as list shows it' }],
  endpoint: unlinkGitAccount,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, account: positionals.account } }),
  examples: [
    {
      line: 'svc git-host accounts unlink 01977777-7777-7777-8777-777777777777 --execute',
      does: 'Its tokens are forgotten here',
    },
  ],
});
