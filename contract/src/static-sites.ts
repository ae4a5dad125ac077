import { endpoint, who } from './endpoint.ts';
import type * as shapes from './static-sites.shapes.ts';

export const releaseVersionCharsMax = 100;
export const promotionTextCharsMax = 2_000;
/** How long files of a draft can be sent before a new address has to be asked for. */
export const uploadGrantSeconds = 900;
/** A draft that is not finalized by then is given up. */
export const draftHoursMax = 12;
/** Larger files of a release are compared by their sums alone. */
export const releaseTextBytesMax = 200 * 1024;
/** Of one site at a time. */
export const draftsMax = 50;
/** Releases without a part to play that are kept, the newest ones. */
export const releasesKeptMax = 10;
/** Where files of drafts are sent to. */
export const uploadsPrefix = '/uploads/';
/** Paths of every site that are the platform's, never a release's. */
export const sitePlatformPrefix = '/.svc/';
/** Behind the subdomain, in the name of the host that shows what is staged. */
export const stagingSuffix = '--staging';

export const releaseStates = ['draft', 'finalized', 'revoked', 'abandoned', 'expired'] as const;
/** What a release is to its site; none, or several at once. */
export const releaseRoles = ['staged', 'promote_requested', 'active', 'superseded'] as const;
/** What became of a file between two releases. */
export const fileChanges = ['added', 'removed', 'changed', 'same'] as const;
export const promotionStatuses = ['pending', 'approved', 'rejected', 'stale', 'canceled'] as const;

const owners = { credential: 'login', role: 'tenant_member', outsider: 'not_found', app: 'owners' } as const;
const ownersOnly = { authority: owners, who: who('O:y C:y A:n M:n P:n N:n X:n') } as const;
const governed = {
  authority: { ...owners, app: 'owners_or_admin' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
} as const;
const reviewers = {
  authority: { ...owners, app: 'admin' },
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
} as const;
const site = '/api/v1/tenants/{tenantID}/apps/{app}/static/site';
const collection = '/api/v1/tenants/{tenantID}/apps/{app}/static/releases';
const one = `${collection}/{release}`;
const shown = ['not_found', 'app_not_active', 'release_not_finalized', 'release_revoked'] as const;

export const getSite = endpoint<typeof shapes.getSite>()({
  id: 'sites.get',
  method: 'GET',
  path: site,
  summary: 'The site: what it shows, what is staged, how it is configured',
  kind: 'read',
  ...governed,
  status: 200,
  errors: ['not_found'],
});

export const setSite = endpoint<typeof shapes.setSite>()({
  id: 'sites.set',
  method: 'PUT',
  path: site,
  summary: 'Replace the configuration of the site',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: ['not_found', 'app_not_active'],
  bodyBytesMax: 512 * 1024,
});

export const enableStaging = endpoint<typeof shapes.enableStaging>()({
  id: 'sites.enableStaging',
  method: 'POST',
  path: `${site}/staging/enable`,
  summary: 'Give the site a staging host, for its owners and for reviewers',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: ['not_found', 'app_not_active'],
});

export const disableStaging = endpoint<typeof shapes.disableStaging>()({
  id: 'sites.disableStaging',
  method: 'POST',
  path: `${site}/staging/disable`,
  summary: 'Take the staging host away; what is staged is staged no more',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: ['not_found', 'app_not_active'],
});

export const unpublishSite = endpoint<typeof shapes.unpublishSite>()({
  id: 'sites.unpublish',
  method: 'POST',
  path: `${site}/unpublish`,
  summary: 'Stop serving the site; activating its release shows it again as it was',
  kind: 'mutate',
  ...governed,
  status: 200,
  errors: ['not_found', 'nothing_active'],
});

export const listReleases = endpoint<typeof shapes.listReleases>()({
  id: 'releases.list',
  method: 'GET',
  path: collection,
  summary: 'The releases of the site, the newest first',
  kind: 'read',
  ...governed,
  status: 200,
  errors: ['not_found'],
});

export const getRelease = endpoint<typeof shapes.getRelease>()({
  id: 'releases.get',
  method: 'GET',
  path: one,
  summary: 'One release',
  kind: 'read',
  ...governed,
  status: 200,
  errors: ['not_found'],
});

export const listReleaseFiles = endpoint<typeof shapes.listReleaseFiles>()({
  id: 'releases.files',
  method: 'GET',
  path: `${one}/files`,
  summary: 'The files of a release, in the order of their paths',
  kind: 'read',
  ...governed,
  status: 200,
  errors: ['not_found'],
});

/** Against another release of the site, or against what visitors see. */
export const diffRelease = endpoint<typeof shapes.diffRelease>()({
  id: 'releases.diff',
  method: 'GET',
  path: `${one}/diff`,
  summary: 'What became of each file since another release, by default the one that visitors see',
  kind: 'read',
  ...governed,
  status: 200,
  errors: ['not_found'],
});

/** An admin reads what is theirs to review, and nothing else of an app. */
export const getReleaseFile = endpoint<typeof shapes.getReleaseFile>()({
  id: 'releases.file',
  method: 'GET',
  path: `${one}/file`,
  summary: 'One file of a release, with its text where it is one',
  kind: 'read',
  ...governed,
  status: 200,
  errors: ['not_found'],
});

export const createRelease = endpoint<typeof shapes.createRelease>()({
  id: 'releases.create',
  method: 'POST',
  path: collection,
  summary: 'Begin a release from a list of files; the answer says which are missing and where to send them',
  kind: 'mutate',
  ...ownersOnly,
  status: 201,
  errors: ['not_found', 'app_not_active', 'invalid_path', 'path_collision', 'limit_reached'],
  bodyBytesMax: 16 * 1024 * 1024,
});

export const grantUpload = endpoint<typeof shapes.grantUpload>()({
  id: 'releases.grantUpload',
  method: 'POST',
  path: `${one}/upload-grant`,
  summary: 'A new address for the files of a draft that are still missing',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: ['not_found', 'app_not_active', 'release_not_draft'],
});

export const finalizeRelease = endpoint<typeof shapes.finalizeRelease>()({
  id: 'releases.finalize',
  method: 'POST',
  path: `${one}/finalize`,
  summary: 'End the upload; from now on the release never changes',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: ['not_found', 'app_not_active', 'release_not_draft', 'release_incomplete', 'release_revoked'],
});

export const stageRelease = endpoint<typeof shapes.stageRelease>()({
  id: 'releases.stage',
  method: 'POST',
  path: `${one}/stage`,
  summary: 'Show the release at the staging host',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: [...shown, 'staging_disabled'],
});

export const activateRelease = endpoint<typeof shapes.activateRelease>()({
  id: 'releases.activate',
  method: 'POST',
  path: `${one}/activate`,
  summary: 'Show the release to visitors; beyond the owners, only what was reviewed',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: [...shown, 'promotion_required'],
});

export const rollbackRelease = endpoint<typeof shapes.rollbackRelease>()({
  id: 'releases.rollback',
  method: 'POST',
  path: `${one}/rollback`,
  summary: 'Show a release again that visitors saw before',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: [...shown, 'not_rollback_target', 'promotion_required'],
});

export const revokeRelease = endpoint<typeof shapes.revokeRelease>()({
  id: 'releases.revoke',
  method: 'POST',
  path: `${one}/revoke`,
  summary: 'Make sure that the release is never shown again',
  kind: 'mutate',
  ...governed,
  status: 200,
  errors: ['not_found', 'release_active', 'release_not_finalized'],
  irreversible: true,
});

export const requestPromotion = endpoint<typeof shapes.requestPromotion>()({
  id: 'releases.requestPromotion',
  method: 'POST',
  path: `${one}/promote-request`,
  summary: 'Ask for a review of the staged release, to show it to visitors',
  kind: 'mutate',
  ...ownersOnly,
  status: 200,
  errors: [...shown, 'not_staged', 'promotion_pending'],
  // Each is an e-mail to every admin.
  perMinuteMax: 60,
});

export const approvePromotion = endpoint<typeof shapes.approvePromotion>()({
  id: 'releases.approvePromotion',
  method: 'POST',
  path: `${one}/promote-approve`,
  summary: 'Approve what was reviewed, and show it to visitors',
  kind: 'mutate',
  ...reviewers,
  status: 200,
  errors: [...shown, 'self_approval', 'staging_changed', 'not_pending'],
});

/** Whoever asked for it is refused; any other owner may say no as well. */
export const rejectPromotion = endpoint<typeof shapes.rejectPromotion>()({
  id: 'releases.rejectPromotion',
  method: 'POST',
  path: `${one}/promote-reject`,
  summary: 'Refuse to promote the release; it stays staged',
  kind: 'mutate',
  ...governed,
  status: 200,
  errors: ['not_found', 'self_approval', 'not_pending'],
});

/** Below no tenant: a site that is shown to the internet is open to people of other tenants. */
export const startSiteAuth = endpoint<typeof shapes.startSiteAuth>()({
  id: 'sites.startAuth',
  method: 'POST',
  path: '/api/v1/static/auth/start',
  summary: 'An address that signs the caller in at a site they may see',
  kind: 'mutate',
  authority: { credential: 'login' },
  who: who('O:v C:v A:v M:v P:n N:n X:v'),
  status: 200,
  errors: ['not_found'],
  perMinuteMax: 60,
});
