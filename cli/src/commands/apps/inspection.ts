import {
  getInspectionConsent,
  inspectApp,
  inspectable,
  listInspections,
  setInspectionConsent,
} from '@svc/contract/inspection.ts';
import { defineCommand } from '../../command.ts';
import { appFlag, pageFlags } from '../../inputs/common.ts';
import { inspectionView } from '../../views/tables.ts';

export const appsInspect = defineCommand({
  words: 'apps inspect',
  summary: "Read an app's structure as a tenant admin, with the owner's consent",
  description:
    'Rows are never read. Each inspection is recorded in the ledger, which the owners of the app can see.',
  kind: 'mutate',
  positionals: [{ name: 'app', summary: 'App id or slug' }],
  flags: {
    what: { type: 'enum', values: inspectable, required: true, summary: 'What to read' },
    reason: { type: 'string', required: true, summary: 'Reason, for the owners of the app' },
  },
  endpoint: inspectApp,
  input: ({ flags }) => ({ body: { what: flags.what, reason: flags.reason } }),
  view: inspectionView,
  examples: {
    "pet-shop --what tables --reason 'yearly review' --execute":
      'Read the tables of the app with their columns and indexes',
  },
});

export const appsInspectionConsentGet = defineCommand({
  words: 'apps inspection-consent get',
  summary: 'Show whether tenant admins may inspect an app, and who decided',
  description: 'svc apps inspection-consent without a command does the same.',
  kind: 'read',
  flags: appFlag,
  endpoint: getInspectionConsent,
  examples: {
    '--app pet-shop': 'For one app',
    '--app pet-shop --json': 'For a script',
  },
});

export const appsInspectionConsentSet = defineCommand({
  words: 'apps inspection-consent set',
  summary: 'Grant or revoke consent to inspect an app',
  description:
    'Only the representative owner can grant it; every co-owner can revoke it. Earlier inspections stay in svc apps ' +
    'inspection-consent ledger.',
  kind: 'mutate',
  flags: {
    ...appFlag,
    granted: { type: 'boolean', excludes: ['revoked'], summary: 'Tenant admins may inspect the app' },
    revoked: { type: 'boolean', summary: 'Tenant admins may no longer inspect the app' },
  },
  oneRequired: [['granted', 'revoked']],
  endpoint: setInspectionConsent,
  input: ({ flags }) => ({ body: { granted: flags.granted === true } }),
  examples: {
    '--app pet-shop --granted': 'Preview it',
    '--app pet-shop --revoked --execute': 'Revoke it',
  },
});

export const appsInspectionConsentLedger = defineCommand({
  words: 'apps inspection-consent ledger',
  summary: 'List the inspections of an app, newest first',
  kind: 'read',
  flags: { ...appFlag, ...pageFlags },
  endpoint: listInspections,
  view: inspectionView,
  examples: { '--app pet-shop': 'List who has inspected it' },
});
