import { enableStorage } from '@svc/contract/storage.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps storage enable',
  summary: 'Enable storage for an app',
  description:
    'Where it is enabled already nothing changes. `storage.enabled: true` in svc.yaml does it for a new app.',
  kind: 'mutate',
  flags: appFlag,
  endpoint: enableStorage,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app } }),
  examples: [{ line: 'svc apps storage enable --app pet-shop --execute', does: 'Enable it' }],
});
