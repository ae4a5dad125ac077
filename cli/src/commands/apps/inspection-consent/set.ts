import { setInspectionConsent } from '@svc/contract/inspection.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps inspection-consent set',
  summary: 'Grant or revoke the consent to inspect an app',
  description:
    'The representative owner alone grants it, each co-owner may revoke it. What was read before is not recalled; svc ' +
    'apps inspection-consent ledger shows it.',
  kind: 'mutate',
  flags: {
    ...appFlag,
    granted: { type: 'boolean', excludes: ['revoked'], summary: 'Tenant admins may inspect the app' },
    revoked: { type: 'boolean', summary: 'They may not, from now on' },
  },
  oneRequired: [['granted', 'revoked']],
  endpoint: setInspectionConsent,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    body: { granted: flags.granted === true },
  }),
  examples: [
    { line: 'svc apps inspection-consent set --app pet-shop --granted', does: 'See what would change' },
    { line: 'svc apps inspection-consent set --app pet-shop --revoked --execute', does: 'Revoke it' },
  ],
});
