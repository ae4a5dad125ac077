import { enableRawDb } from '@svc/contract/raw-db.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { rawDbSettled } from '../../../raw-db-settled.ts';

export default defineCommand({
  words: 'apps raw-db enable',
  summary: 'Give an app a PostgreSQL database of its own',
  description:
    'The connection string is printed once. It will be injected into the app as DATABASE_URL when it is deployed. --timeout ' +
    'bounds the wait for the database; when it runs out, the string is printed all the same, and svc exits with 10.',
  kind: 'mutate',
  flags: appFlag,
  endpoint: enableRawDb,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app } }),
  present: (ctx, answer) => {
    if (answer.connection_string !== undefined)
      ctx.note('This is the only time the connection string is shown. Keep it where secrets are kept.');
    return answer;
  },
  settle: (ctx, made, { params }) => rawDbSettled(ctx, made, { params, passing: 'creating' }),
  examples: [
    { line: 'svc apps raw-db enable --app pet-shop', does: 'See what would happen' },
    { line: 'svc apps raw-db enable --app pet-shop --execute', does: 'Make it, and wait until it is ready' },
  ],
});
