import { getInspectionConsent } from '@svc/contract/inspection.ts';
import { appFlag } from '../../../app-flag.ts';
import { defineCommand } from '../../../define-command.ts';

export default defineCommand({
  words: 'apps inspection-consent get',
  summary: 'Show whether tenant admins may inspect an app, and who has said so',
  description: 'svc apps inspection-consent alone is the same.',
  kind: 'read',
  flags: appFlag,
  endpoint: getInspectionConsent,
  input: ({ tenant, flags }) => ({ params: { tenantID: tenant, app: flags.app } }),
  examples: [
    { line: 'svc apps inspection-consent get --app pet-shop', does: 'Of one app' },
    { line: 'svc apps inspection-consent get --app pet-shop --json', does: 'For a script' },
  ],
});
