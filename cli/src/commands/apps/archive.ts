import { archiveApp } from '@svc/contract/app-life.ts';
import { appMoved } from '../../app-moved.ts';
import { appPositional } from '../../app-positional.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'apps archive',
  summary: 'Stop an app and put it away',
  description: 'Its rows can still be read, and nothing of it changes until svc apps reactivate.',
  kind: 'mutate',
  positionals: [appPositional],
  endpoint: archiveApp,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, app: positionals.app } }),
  ...appMoved,
  examples: [
    { line: 'svc apps archive pet-shop', does: 'See what would change' },
    { line: 'svc apps archive pet-shop --execute', does: 'Archive it' },
  ],
});
