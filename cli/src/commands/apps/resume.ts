import { resumeApp } from '@svc/contract/app-life.ts';
import { appMoved } from '../../app-moved.ts';
import { appPositional } from '../../app-positional.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'apps resume',
  summary: 'Run a suspended app again',
  description: 'What was deployed last and ended well is deployed again.',
  kind: 'mutate',
  positionals: [appPositional],
  endpoint: resumeApp,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, app: positionals.app } }),
  ...appMoved,
  examples: [
    { line: 'svc apps resume pet-shop', does: 'See what would change' },
    { line: 'svc apps resume pet-shop --execute', does: 'Run it again' },
  ],
});
