import { reactivateApp } from '@svc/contract/app-life.ts';
import { appMoved } from '../../app-moved.ts';
import { appPositional } from '../../app-positional.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'apps reactivate',
  summary: 'Take an archived app into use again',
  description:
    'It does not run by this: what ran when it was archived is suspended, and svc apps resume starts it.',
  kind: 'mutate',
  positionals: [appPositional],
  endpoint: reactivateApp,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, app: positionals.app } }),
  ...appMoved,
  examples: [
    { line: 'svc apps reactivate pet-shop', does: 'See what would change' },
    { line: 'svc apps reactivate pet-shop --execute', does: 'Reactivate it' },
  ],
});
