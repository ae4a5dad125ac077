import { act, admins, change, member, owners, ownersOrAdmin, read, who } from './endpoint.ts';
import type * as shapes from './review.shapes.ts';

export const publishedVisibilities = ['invite_only', 'public', 'internet'] as const;
export const publicationStatuses = [
  'pending',
  'approved',
  'rejected',
  'withdrawn',
  'superseded',
  'expired',
] as const;
export const publicationFilters = [...publicationStatuses, 'settled'] as const;
export const publicationPins = ['live', 'staged', 'built'] as const;
export const publicationTextCharsMax = 2_000;
export const publicationDaysMax = 30;
/** A sole admin may approve their own request, unless they removed another admin within this time. */
export const soleAdminDaysMin = 7;

const ofApp = '/api/v1/tenants/{tenantID}/apps/{app}/publication-requests';
const collection = '/api/v1/tenants/{tenantID}/publication-requests';
const one = `${collection}/{request}`;

export const requestPublication = change<typeof shapes.requestPublication>()({
  id: 'publications.request',
  path: ofApp,
  summary: 'Request a review to publish what is deployed to more people',
  ...owners,
  errors: [
    'app_not_active',
    'app_suspended',
    'not_wider',
    'nothing_deployed',
    'request_open',
    'stale_deployment',
  ],
  // Each is an e-mail to every admin.
  perMinuteMax: 20,
});

export const listPublicationsOfApp = read<typeof shapes.listPublicationsOfApp>()({
  id: 'publications.listOfApp',
  path: ofApp,
  summary: 'List the publication requests of an app, newest first',
  ...ownersOrAdmin,
});

export const listPublications = read<typeof shapes.listPublications>()({
  id: 'publications.list',
  path: collection,
  summary: 'List the publication requests of the tenant, newest first',
  ...admins,
  errors: ['not_found'],
});

/** The path names no app: not found for users without a relation to the request's app. */
export const getPublication = read<typeof shapes.getPublication>()({
  id: 'publications.get',
  path: one,
  summary: 'Get a publication request',
  authority: member,
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
});

export const approvePublication = act<typeof shapes.approvePublication>()({
  id: 'publications.approve',
  path: `${one}/approve`,
  summary: "Approve a request: widen the app's visibility, or let the deployment go live",
  authority: member,
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  errors: [
    'forbidden',
    'app_not_active',
    'app_suspended',
    'not_wider',
    'self_review',
    'stale_deployment',
    'settled',
    'deploy_in_progress',
  ],
});

/** The requester cannot reject; any other owner can. */
export const rejectPublication = act<typeof shapes.rejectPublication>()({
  id: 'publications.reject',
  path: `${one}/reject`,
  summary: 'Reject a publication request, with a reason',
  authority: member,
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
  errors: ['self_review', 'settled'],
});

export const withdrawPublication = act<typeof shapes.withdrawPublication>()({
  id: 'publications.withdraw',
  path: `${one}/withdraw`,
  summary: 'Withdraw a publication request',
  authority: member,
  who: who('O:y C:y A:n M:n P:n N:n X:n'),
  errors: ['forbidden', 'settled'],
});
