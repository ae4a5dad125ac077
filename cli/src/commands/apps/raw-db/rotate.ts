import { rotateRawDb } from '@svc/contract/raw-db.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { rawDbSettled } from '../../../raw-db-settled.ts';

export default defineCommand({
  words: 'apps raw-db rotate',
  summary: "Change the password of an app's own PostgreSQL database",
  description:
    'The new connection string is printed once; the one before ends, and whoever is connected is put out. It changes ' +
    'by itself when somebody who has seen it stops being an owner: this is how to get the new one then.',
  kind: 'mutate',
  flags: appFlag,
  endpoint: rotateRawDb,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app } }),
  present: (ctx, answer) => {
    ctx.note('This is the only time the connection string is shown. Keep it where secrets are kept.');
    return answer;
  },
  settle: (ctx, made, { params }) => rawDbSettled(ctx, made, { params, passing: 'creating' }),
  examples: [
    { line: 'svc apps raw-db rotate --app pet-shop', does: 'See what would happen' },
    { line: 'svc apps raw-db rotate --app pet-shop --execute', does: 'Change it, and wait until it counts' },
  ],
});
