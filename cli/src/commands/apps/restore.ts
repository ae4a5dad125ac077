import { restoreApp } from '@svc/contract/app-life.ts';
import { appMoved } from '../../app-moved.ts';
import { appPositional } from '../../app-positional.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'apps restore',
  summary: 'Bring back an app that was deleted',
  description:
    'It is as it was, with its rows, but does not run until svc apps resume; who was signed in to it signs in again.',
  kind: 'mutate',
  positionals: [appPositional],
  endpoint: restoreApp,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, app: positionals.app } }),
  ...appMoved,
  examples: [
    { line: 'svc apps restore pet-shop', does: 'See what would change' },
    { line: 'svc apps restore pet-shop --execute', does: 'Bring it back' },
  ],
});
