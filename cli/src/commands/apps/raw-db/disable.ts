import { disableRawDb } from '@svc/contract/raw-db.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { rawDbSettled } from '../../../raw-db-settled.ts';

export default defineCommand({
  words: 'apps raw-db disable',
  summary: "Drop an app's own PostgreSQL database with everything in it, for good",
  kind: 'mutate',
  flags: appFlag,
  endpoint: disableRawDb,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app } }),
  settle: (ctx, made, { params }) => rawDbSettled(ctx, made, { params, passing: 'dropping' }),
  examples: [
    { line: 'svc apps raw-db disable --app pet-shop', does: 'See what would be lost' },
    { line: 'svc apps raw-db disable --app pet-shop --execute', does: 'Drop it' },
  ],
});
