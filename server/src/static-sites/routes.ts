import * as shapes from '@svc/contract/static-sites.shapes.ts';
import * as endpoints from '@svc/contract/static-sites.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import { type Route, route } from '../plumbing/route.ts';
import { activateRelease } from './activate-release.ts';
import { approvePromotion } from './approve-promotion.ts';
import { createRelease } from './create-release.ts';
import { diffRelease } from './diff-release.ts';
import { disableStaging } from './disable-staging.ts';
import { enableStaging } from './enable-staging.ts';
import { finalizeRelease } from './finalize-release.ts';
import { getRelease } from './get-release.ts';
import { getReleaseFile } from './get-release-file.ts';
import { getSite } from './get-site.ts';
import { grantUpload } from './grant-upload.ts';
import { listReleaseFiles } from './list-release-files.ts';
import { listReleases } from './list-releases.ts';
import { rejectPromotion } from './reject-promotion.ts';
import { requestPromotion } from './request-promotion.ts';
import { revokeRelease } from './revoke-release.ts';
import { rollbackRelease } from './rollback-release.ts';
import { setSite } from './set-site.ts';
import { stageRelease } from './stage-release.ts';
import { unpublishSite } from './unpublish-site.ts';
import type { SiteParts } from './upload-grant.ts';

/** All of static sites but how a visitor comes in. */
export const staticSiteRoutes = (parts: SiteParts & { objects: Pick<ObjectStore, 'get'> }): Route[] => [
  route(endpoints.getSite, shapes.getSite, (ctx) => getSite(ctx, parts)),
  route(endpoints.setSite, shapes.setSite, (ctx, { body }) => setSite(ctx, body, parts)),
  route(endpoints.enableStaging, shapes.enableStaging, (ctx) => enableStaging(ctx, parts)),
  route(endpoints.disableStaging, shapes.disableStaging, (ctx) => disableStaging(ctx, parts)),
  route(endpoints.unpublishSite, shapes.unpublishSite, (ctx) => unpublishSite(ctx, parts)),
  route(endpoints.listReleases, shapes.listReleases, (ctx, { query }) => listReleases(ctx, query)),
  route(endpoints.getRelease, shapes.getRelease, (ctx, { params }) =>
    getRelease(ctx, { id: params.release }),
  ),
  route(endpoints.listReleaseFiles, shapes.listReleaseFiles, (ctx, { params, query }) =>
    listReleaseFiles(ctx, { id: params.release, ...query }),
  ),
  route(endpoints.diffRelease, shapes.diffRelease, (ctx, { params, query }) =>
    diffRelease(ctx, { id: params.release, ...query }),
  ),
  route(endpoints.getReleaseFile, shapes.getReleaseFile, (ctx, { params, query }) =>
    getReleaseFile(ctx, { id: params.release, ...query }, parts),
  ),
  route(endpoints.createRelease, shapes.createRelease, (ctx, { body }) => createRelease(ctx, body, parts)),
  route(endpoints.grantUpload, shapes.grantUpload, (ctx, { params }) =>
    grantUpload(ctx, { id: params.release }, parts),
  ),
  route(endpoints.finalizeRelease, shapes.finalizeRelease, (ctx, { params }) =>
    finalizeRelease(ctx, { id: params.release }, parts),
  ),
  route(endpoints.stageRelease, shapes.stageRelease, (ctx, { params }) =>
    stageRelease(ctx, { id: params.release }, parts),
  ),
  route(endpoints.activateRelease, shapes.activateRelease, (ctx, { params }) =>
    activateRelease(ctx, { id: params.release }, parts),
  ),
  route(endpoints.rollbackRelease, shapes.rollbackRelease, (ctx, { params }) =>
    rollbackRelease(ctx, { id: params.release }, parts),
  ),
  route(endpoints.revokeRelease, shapes.revokeRelease, (ctx, { params }) =>
    revokeRelease(ctx, { id: params.release }, parts),
  ),
  route(endpoints.requestPromotion, shapes.requestPromotion, (ctx, { params, body }) =>
    requestPromotion(ctx, { id: params.release, ...body }),
  ),
  route(endpoints.approvePromotion, shapes.approvePromotion, (ctx, { params, body }) =>
    approvePromotion(ctx, { id: params.release, ...body }, parts),
  ),
  route(endpoints.rejectPromotion, shapes.rejectPromotion, (ctx, { params, body }) =>
    rejectPromotion(ctx, { id: params.release, ...body }),
  ),
];
