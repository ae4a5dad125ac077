import { listInspections } from '@svc/contract/inspection.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';
import { pageFlags } from '../../../page-flags.ts';
import { inspectionView } from '../../../views/inspection.ts';

export default defineCommand({
  words: 'apps inspection-consent ledger',
  summary: 'List who has read what of an app under which consent, newest first',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listInspections,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    query: { page: flags.page, per_page: flags['per-page'] },
  }),
  view: inspectionView,
  examples: [{ line: 'svc apps inspection-consent ledger --app pet-shop', does: 'Who has looked' }],
});
