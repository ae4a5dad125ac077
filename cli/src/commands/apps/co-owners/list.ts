import { listCoOwners } from '@svc/contract/apps.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { pageFlags } from '../../../page-flags.ts';
import { ownerView } from '../../../views/owner.ts';

export default defineCommand({
  words: 'apps co-owners list',
  summary: 'List the representative owner and all co-owners of an app',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listCoOwners,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: ownerView,
  examples: [{ line: 'svc apps co-owners list --app pet-shop', does: 'Who may change the app' }],
});
