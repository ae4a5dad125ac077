import type * as shapes from './access-requests.shapes.ts';
import { act, anyMember, change, owners, read } from './endpoint.ts';

export const accessRequestStatuses = ['pending', 'accepted', 'refused'] as const;
export const accessRequestNoteCharsMax = 500;
/** After a refusal the same person can ask again when this time has passed. */
export const accessRequestDaysMin = 7;

const ofApp = '/api/v1/tenants/{tenantID}/apps/{app}/access-requests';

/** An app that takes no requests is answered like one that does not exist. */
export const requestAccess = change<typeof shapes.requestAccess>()({
  id: 'accessRequests.create',
  path: '/api/v1/tenants/{tenantID}/access-requests',
  summary: 'Ask the owners of an `invite_only` app for access, where the tenant allows such requests',
  ...anyMember,
  errors: ['not_found', 'settled', 'unique_violation'],
  perMinuteMax: 10,
});

export const listAccessRequests = read<typeof shapes.listAccessRequests>()({
  id: 'accessRequests.list',
  path: ofApp,
  summary: 'List the people who ask for access to an app, newest first',
  ...owners,
});

export const acceptAccessRequest = act<typeof shapes.acceptAccessRequest>()({
  id: 'accessRequests.accept',
  path: `${ofApp}/{request}/accept`,
  summary: 'Accept a request for access: the person becomes an invited member of the app',
  ...owners,
  errors: ['settled', 'limit_reached', 'unique_violation'],
});

export const refuseAccessRequest = act<typeof shapes.refuseAccessRequest>()({
  id: 'accessRequests.refuse',
  path: `${ofApp}/{request}/refuse`,
  summary: 'Refuse a request for access',
  ...owners,
  errors: ['settled'],
});
