import { change, member, owners, ownersOrAdmin, read, replace, who } from './endpoint.ts';
import type * as shapes from './inspection.shapes.ts';

export const inspectable = ['tables'] as const;
export const inspectionReasonCharsMax = 500;
export const consentStatuses = ['granted', 'revoked', 'never'] as const;

const base = '/api/v1/tenants/{tenantID}/apps/{app}';

export const getInspectionConsent = read<typeof shapes.getInspectionConsent>()({
  id: 'inspectionConsent.get',
  path: `${base}/inspection-consent`,
  summary: 'Get the consent to inspect an app, and who gave it',
  ...ownersOrAdmin,
});

/** A read cannot be undone: only the representative owner grants consent, every owner may revoke it. */
export const setInspectionConsent = replace<typeof shapes.setInspectionConsent>()({
  id: 'inspectionConsent.set',
  path: `${base}/inspection-consent`,
  summary: 'Give (representative owner only) or revoke the consent to inspect an app',
  ...owners,
});

export const listInspections = read<typeof shapes.listInspections>()({
  id: 'inspections.list',
  path: `${base}/inspection-consent/ledger`,
  summary: 'List who inspected an app and under which consent, newest first',
  ...ownersOrAdmin,
});

export const inspectApp = change<typeof shapes.inspectApp>()({
  id: 'inspections.create',
  path: `${base}/inspections`,
  summary: 'Inspect how an app is built, under an active consent; never its rows',
  authority: { ...member, app: 'admin' },
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  errors: ['consent_required'],
});
