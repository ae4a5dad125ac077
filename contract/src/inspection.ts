import { endpoint, who } from './endpoint.ts';
import type * as shapes from './inspection.shapes.ts';

/** What can be inspected; more may come. */
export const inspectable = ['tables'] as const;
export const inspectionReasonCharsMax = 500;
/** Of an app's latest consent; `never`: there was none. */
export const consentStatuses = ['granted', 'revoked', 'never'] as const;

const tenantWide = { credential: 'login', role: 'tenant_member', outsider: 'not_found' } as const;
const governed = { ...tenantWide, app: 'owners_or_admin' } as const;
const base = '/api/v1/tenants/{tenantID}/apps/{app}';

export const getInspectionConsent = endpoint<typeof shapes.getInspectionConsent>()({
  id: 'inspectionConsent.get',
  method: 'GET',
  path: `${base}/inspection-consent`,
  summary: 'Whether tenant admins may inspect an app, and who has said so',
  kind: 'read',
  authority: governed,
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
});

/** What was read can not be made unread: to grant is for the representative owner, to revoke for every owner. */
export const setInspectionConsent = endpoint<typeof shapes.setInspectionConsent>()({
  id: 'inspectionConsent.set',
  method: 'PUT',
  path: `${base}/inspection-consent`,
  summary: 'Grant (the representative owner alone) or revoke the consent to inspect an app',
  kind: 'mutate',
  authority: { ...tenantWide, app: 'owners' },
  who: who('O:y C:y A:n M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
});

export const listInspections = endpoint<typeof shapes.listInspections>()({
  id: 'inspections.list',
  method: 'GET',
  path: `${base}/inspection-consent/ledger`,
  summary: 'Who has read what of an app under which consent, newest first',
  kind: 'read',
  authority: governed,
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
});

export const inspectApp = endpoint<typeof shapes.inspectApp>()({
  id: 'inspections.create',
  method: 'POST',
  path: `${base}/inspections`,
  summary: 'Read how an app is built, under a consent that stands; never its rows',
  kind: 'mutate',
  authority: { ...tenantWide, app: 'admin' },
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  status: 201,
  errors: ['not_found', 'consent_required'],
});
