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
export const reviewKinds = ['publication', 'promotion', 'deployment'] as const;
/** Changed files that a review lists. */
export const reviewFilesMax = 200;
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
  irreversible: 'sometimes',
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
  irreversible: 'sometimes',
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

const reviews = '/api/v1/tenants/{tenantID}/reviews';
const review = `${reviews}/{request}`;
const decisionErrors = [
  'app_not_active',
  'self_review',
  'self_approval',
  'settled',
  'not_pending',
  'staging_changed',
] as const;

export const listReviews = read<typeof shapes.listReviews>()({
  id: 'reviews.list',
  path: reviews,
  summary: 'List publications, promotions and deployments that were submitted for review, newest first',
  ...admins,
  errors: ['not_found'],
});

export const listReviewsOfApp = read<typeof shapes.listReviewsOfApp>()({
  id: 'reviews.listOfApp',
  path: '/api/v1/tenants/{tenantID}/apps/{app}/reviews',
  summary: 'List the reviews of an app, newest first',
  ...ownersOrAdmin,
});

export const getReview = read<typeof shapes.getReview>()({
  id: 'reviews.get',
  path: review,
  summary: 'Get a review with what would change',
  authority: member,
  who: getPublication.who,
});

export const approveReview = act<typeof shapes.approveReview>()({
  id: 'reviews.approve',
  path: `${review}/approve`,
  summary: 'Approve a publication, a promotion or a deployment',
  authority: member,
  who: approvePublication.who,
  errors: [
    ...decisionErrors,
    'forbidden',
    'app_suspended',
    'not_wider',
    'stale_deployment',
    'deploy_in_progress',
    'release_revoked',
  ],
  irreversible: 'sometimes',
});

export const rejectReview = act<typeof shapes.rejectReview>()({
  id: 'reviews.reject',
  path: `${review}/reject`,
  summary: 'Reject a publication, a promotion or a deployment, with a reason',
  authority: member,
  who: rejectPublication.who,
  errors: decisionErrors,
});

export const withdrawReview = act<typeof shapes.withdrawReview>()({
  id: 'reviews.withdraw',
  path: `${review}/withdraw`,
  summary: 'Withdraw a request for a review',
  authority: member,
  who: withdrawPublication.who,
  errors: ['forbidden', 'settled'],
});

/** Owners always; admins while they have to decide. */
export const readReviewLog = read<typeof shapes.readReviewLog>()({
  id: 'reviews.logs',
  path: `${review}/logs`,
  summary: 'Get the build log of what is reviewed',
  authority: member,
  who: getPublication.who,
  errors: ['forbidden', 'invalid_cursor'],
});
