import { getStorage } from '@svc/contract/storage.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps storage status',
  summary: "Show whether an app's storage is enabled, and how much is in it",
  kind: 'read',
  flags: appFlag,
  endpoint: getStorage,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app } }),
  examples: [{ line: 'svc apps storage status --app pet-shop', does: 'Objects and bytes' }],
});
