import { resumeApp } from '@svc/contract/app-life.ts';
import { appMoved } from '../../app-moved.ts';
import { appPositional } from '../../app-positional.ts';
import { defineCommand } from '../../define-command.ts';

export default defineCommand({
  words: 'apps resume',
  summary: 'Run a suspended app again',
  description:
    'What was deployed last and ended well is deployed again, with the variables of now; that is waited for. It exits with 9 ' +
    'where it fails, which leaves the app suspended, and with 10 where --timeout runs out.',
  timeoutDefault: '20m',
  kind: 'mutate',
  positionals: [appPositional],
  endpoint: resumeApp,
  input: ({ tenant, positionals }) => ({ params: { tenantID: tenant, app: positionals.app } }),
  text: appMoved.text,
  settle: async (ctx, made, { params }) => {
    const { resumed } = await import('../../deploy/resumed.ts');
    return resumed(ctx, made, params);
  },
  examples: [
    { line: 'svc apps resume pet-shop', does: 'See what would change' },
    { line: 'svc apps resume pet-shop --execute', does: 'Run it again' },
  ],
});
