import { getRawDb } from '@svc/contract/raw-db.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps raw-db status',
  summary: 'Show whether an app has a PostgreSQL database of its own, and where it is',
  kind: 'read',
  flags: appFlag,
  endpoint: getRawDb,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app } }),
  examples: [{ line: 'svc apps raw-db status --app pet-shop', does: 'Never shows the password' }],
});
