import { cancelBootstrap } from '@svc/contract/bootstrap.ts';
import { defineCommand } from '../../define-command.ts';
import { bootstrapView } from '../../views/bootstrap.ts';

export default defineCommand({
  words: 'apps bootstrap-cancel',
  summary: 'Stop a bootstrap or a fork of yours; what it has made stays',
  description: 'A step that is under way is finished first. How to undo what was made is printed.',
  kind: 'mutate',
  positionals: [{ name: 'bootstrap', summary: 'Id of the run, as svc apps bootstrap prints it' }],
  endpoint: cancelBootstrap,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, run: positionals.bootstrap } }),
  view: bootstrapView,
  examples: [
    {
      line: 'svc apps bootstrap-cancel 01977777-7777-7777-8777-777777777777 --execute',
      does: 'Stop it',
    },
  ],
});
