import { suspendApp } from '@svc/contract/app-life.ts';
import { appMoved } from '../../app-moved.ts';
import { appPositional } from '../../app-positional.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'apps suspend',
  summary: 'Stop a running app',
  description: 'Only what runs stops; rows and settings stay as they are. svc apps resume starts it again.',
  kind: 'mutate',
  positionals: [appPositional],
  endpoint: suspendApp,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, app: positionals.app } }),
  ...appMoved,
  examples: [
    { line: 'svc apps suspend pet-shop', does: 'See what would change' },
    { line: 'svc apps suspend pet-shop --execute', does: 'Suspend it' },
  ],
});
