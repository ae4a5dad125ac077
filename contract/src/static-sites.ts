import {
  act,
  change,
  deployers,
  deployersOrAdmin,
  member,
  owners,
  ownersOrAdmin,
  read,
  replace,
  who,
} from './endpoint.ts';
import type * as shapes from './static-sites.shapes.ts';

export const releaseVersionCharsMax = 100;
export const promotionTextCharsMax = 2_000;
export const uploadGrantSeconds = 900;
export const draftHoursMax = 12;
export const releaseTextBytesMax = 200 * 1024;
export const draftsMax = 50;
export const retainedReleasesMax = 10;
export const uploadsPrefix = '/uploads/';
export const sitePlatformPrefix = '/.svc/';
/** The SDK as one ES module, at the host of every app. */
export const siteSdkPath = '/.svc/sdk.js';
export const stagingSuffix = '--staging';

export const releaseStates = ['draft', 'finalized', 'revoked', 'abandoned', 'expired'] as const;
export const releaseRoles = ['staged', 'promote_requested', 'active', 'superseded'] as const;
export const fileChanges = ['added', 'removed', 'changed', 'same'] as const;
export const promotionStatuses = ['pending', 'approved', 'rejected', 'stale', 'canceled'] as const;

const site = '/api/v1/tenants/{tenantID}/apps/{app}/static/site';
const collection = '/api/v1/tenants/{tenantID}/apps/{app}/static/releases';
const one = `${collection}/{release}`;
const showErrors = ['app_not_active', 'release_not_finalized', 'release_revoked'] as const;

export const getSite = read<typeof shapes.getSite>()({
  id: 'sites.get',
  path: site,
  summary: 'Get the site: active release, staged release and configuration',
  ...deployersOrAdmin,
});

export const setSite = replace<typeof shapes.setSite>()({
  id: 'sites.set',
  path: site,
  summary: 'Replace the configuration of the site',
  ...owners,
  errors: ['app_not_active'],
  bodyBytesMax: 512 * 1024,
});

export const enableStaging = act<typeof shapes.enableStaging>()({
  id: 'sites.enableStaging',
  path: `${site}/staging/enable`,
  summary: 'Enable the staging host of the site, for its owners and reviewers',
  ...owners,
  errors: ['app_not_active'],
});

export const disableStaging = act<typeof shapes.disableStaging>()({
  id: 'sites.disableStaging',
  path: `${site}/staging/disable`,
  summary: 'Disable the staging host; no release is staged afterwards',
  ...owners,
  errors: ['app_not_active'],
});

export const unpublishSite = act<typeof shapes.unpublishSite>()({
  id: 'sites.unpublish',
  path: `${site}/unpublish`,
  summary: 'Unpublish the site; activating a release publishes it again',
  ...ownersOrAdmin,
  errors: ['nothing_active'],
});

export const listReleases = read<typeof shapes.listReleases>()({
  id: 'releases.list',
  path: collection,
  summary: 'List the releases of the site, newest first',
  ...deployersOrAdmin,
});

export const getRelease = read<typeof shapes.getRelease>()({
  id: 'releases.get',
  path: one,
  summary: 'Get a release',
  ...deployersOrAdmin,
});

export const listReleaseFiles = read<typeof shapes.listReleaseFiles>()({
  id: 'releases.files',
  path: `${one}/files`,
  summary: 'List the files of a release, by path',
  ...ownersOrAdmin,
});

export const diffRelease = read<typeof shapes.diffRelease>()({
  id: 'releases.diff',
  path: `${one}/diff`,
  summary: 'Compare a release with another, by default the active one, file by file',
  ...ownersOrAdmin,
});

export const getReleaseFile = read<typeof shapes.getReleaseFile>()({
  id: 'releases.file',
  path: `${one}/file`,
  summary: 'Get a file of a release, with its content if it is text',
  ...ownersOrAdmin,
});

export const createRelease = change<typeof shapes.createRelease>()({
  id: 'releases.create',
  path: collection,
  summary:
    'Create a draft release from a list of files; the response lists the missing ones and where to upload them',
  ...deployers,
  errors: ['app_not_active', 'invalid_path', 'path_collision', 'limit_reached'],
  bodyBytesMax: 16 * 1024 * 1024,
});

export const grantUpload = act<typeof shapes.grantUpload>()({
  id: 'releases.grantUpload',
  path: `${one}/upload-grant`,
  summary: 'Get a new upload URL for the missing files of a draft',
  ...deployers,
  errors: ['app_not_active', 'release_not_draft'],
});

export const finalizeRelease = act<typeof shapes.finalizeRelease>()({
  id: 'releases.finalize',
  path: `${one}/finalize`,
  summary: 'Finalize a draft; the release cannot change afterwards',
  ...deployers,
  errors: ['app_not_active', 'release_not_draft', 'release_incomplete', 'release_revoked'],
});

export const stageRelease = act<typeof shapes.stageRelease>()({
  id: 'releases.stage',
  path: `${one}/stage`,
  summary: 'Stage a release at the staging host',
  ...deployers,
  errors: [...showErrors, 'staging_disabled'],
});

export const activateRelease = act<typeof shapes.activateRelease>()({
  id: 'releases.activate',
  path: `${one}/activate`,
  summary: 'Activate a release for visitors; for more than the owners it must have been reviewed',
  ...deployers,
  errors: [...showErrors, 'promotion_required'],
  irreversible: 'sometimes',
});

export const rollbackRelease = act<typeof shapes.rollbackRelease>()({
  id: 'releases.rollback',
  path: `${one}/rollback`,
  summary: 'Roll back to a release that was active before',
  ...deployers,
  errors: [...showErrors, 'not_rollback_target', 'promotion_required'],
  irreversible: 'sometimes',
});

export const revokeRelease = act<typeof shapes.revokeRelease>()({
  id: 'releases.revoke',
  path: `${one}/revoke`,
  summary: 'Revoke a release, so that it is never served again',
  ...ownersOrAdmin,
  errors: ['release_active', 'release_not_finalized'],
  irreversible: true,
});

export const requestPromotion = act<typeof shapes.requestPromotion>()({
  id: 'releases.requestPromotion',
  path: `${one}/promote-request`,
  summary: 'Request a review to promote the staged release',
  ...owners,
  errors: [...showErrors, 'not_staged', 'promotion_pending'],
  // Each is an e-mail to every admin.
  perMinuteMax: 60,
});

export const approvePromotion = act<typeof shapes.approvePromotion>()({
  id: 'releases.approvePromotion',
  path: `${one}/promote-approve`,
  summary: 'Approve a promotion and activate the release',
  authority: { ...member, app: 'admin' },
  who: who('O:n C:n A:y M:n P:n N:n X:n'),
  errors: [...showErrors, 'self_approval', 'staging_changed', 'not_pending'],
  irreversible: 'sometimes',
});

export const rejectPromotion = act<typeof shapes.rejectPromotion>()({
  id: 'releases.rejectPromotion',
  path: `${one}/promote-reject`,
  summary: 'Reject a promotion; the release stays staged',
  ...ownersOrAdmin,
  errors: ['self_approval', 'not_pending'],
});

/** Without a tenant in the path: a public site is open to users of other tenants. */
export const startSiteAuth = act<typeof shapes.startSiteAuth>()({
  id: 'sites.startAuth',
  path: '/api/v1/static/auth/start',
  summary: 'Get a URL that signs you in at a site',
  authority: { credential: 'login' },
  who: who('O:v C:v A:v M:v P:n N:n X:v'),
  errors: ['not_found'],
  perMinuteMax: 60,
});

export function releaseName({ number, version }: { number: number; version: string }): string {
  return version === '' ? `#${number}` : `#${number} ${version}`;
}
