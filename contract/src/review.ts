import { endpoint, who } from './endpoint.ts';
import type * as shapes from './review.shapes.ts';

/** What an app can be published for; each reaches more people than the one before. */
export const publishedVisibilities = ['invite_only', 'public', 'internet'] as const;
/** All but `pending` are final: asking once more makes a new request. */
export const publicationStatuses = [
  ...(['pending', 'approved', 'rejected', 'withdrawn', 'superseded', 'expired'] as const),
] as const;
/** For listings: one of the statuses, or any of the final ones. */
export const publicationFilters = [...publicationStatuses, 'settled'] as const;
/** What a request is of: what answers for the app, or what its staging host shows. */
export const publicationPins = ['live', 'staged'] as const;
export const publicationTextCharsMax = 2_000;
/** A request that nobody has decided by then is over. */
export const publicationDaysMax = 30;
/** The only admin of a tenant approves what they asked for themself, unless they sent another away within so long. */
export const soleAdminDaysMin = 7;

const member = { credential: 'login', role: 'tenant_member', outsider: 'not_found' } as const;
const ofApp = '/api/v1/tenants/{tenantID}/apps/{app}/publication-requests';
const collection = '/api/v1/tenants/{tenantID}/publication-requests';
const one = `${collection}/{request}`;

export const requestPublication = endpoint<typeof shapes.requestPublication>()({
  id: 'publications.request',
  method: 'POST',
  path: ofApp,
  summary: 'Ask for a review of what is deployed, to show it to more people',
  kind: 'mutate',
  authority: { ...member, app: 'owners' },
  who: who('O:y C:y A:n M:n P:n N:n X:n'),
  status: 201,
  errors: [
    ...(['not_found', 'app_not_active', 'app_suspended', 'not_wider', 'nothing_deployed'] as const),
    ...(['request_open', 'stale_deployment'] as const),
  ],
  // Each is an e-mail to every admin.
  perMinuteMax: 20,
});

export const listPublicationsOfApp = endpoint<typeof shapes.listPublicationsOfApp>()({
  id: 'publications.listOfApp',
  method: 'GET',
  path: ofApp,
  summary: 'Every request to publish the app, the newest first',
  kind: 'read',
  authority: { ...member, app: 'owners_or_admin' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
});

export const listPublications = endpoint<typeof shapes.listPublications>()({
  id: 'publications.list',
  method: 'GET',
  path: collection,
  summary: 'Requests to publish apps of the tenant, the newest first',
  kind: 'read',
  authority: { ...member, role: 'tenant_admin' },
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
});

/** The path names no app: for whoever has no part in the app of the request, it is not there. */
export const getPublication = endpoint<typeof shapes.getPublication>()({
  id: 'publications.get',
  method: 'GET',
  path: one,
  summary: 'One request to publish an app',
  kind: 'read',
  authority: member,
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found'],
});

export const approvePublication = endpoint<typeof shapes.approvePublication>()({
  id: 'publications.approve',
  method: 'POST',
  path: `${one}/approve`,
  summary: 'Approve what was reviewed, and show it to as many people as was asked for',
  kind: 'mutate',
  authority: member,
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  status: 200,
  errors: [
    ...(['forbidden', 'not_found', 'app_not_active', 'app_suspended', 'not_wider'] as const),
    ...(['self_review', 'stale_deployment', 'settled'] as const),
  ],
});

/** Whoever asked for it is refused; any other owner may say no as well. */
export const rejectPublication = endpoint<typeof shapes.rejectPublication>()({
  id: 'publications.reject',
  method: 'POST',
  path: `${one}/reject`,
  summary: 'Refuse to show the app to more people, and say why',
  kind: 'mutate',
  authority: member,
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found', 'self_review', 'settled'],
});

/** By any who own the app, and by an admin who asked for it. */
export const withdrawPublication = endpoint<typeof shapes.withdrawPublication>()({
  id: 'publications.withdraw',
  method: 'POST',
  path: `${one}/withdraw`,
  summary: 'Take a request back',
  kind: 'mutate',
  authority: member,
  who: who('O:y C:y A:n M:n P:n N:n X:n'),
  status: 200,
  errors: ['forbidden', 'not_found', 'settled'],
});
