import * as shapes from '@svc/contract/static-sites.shapes.ts';
import * as endpoints from '@svc/contract/static-sites.ts';
import { type Route, routes } from '../../http/router.ts';
import { createRelease } from './create-release.ts';
import { finalizeRelease } from './finalize-release.ts';
import { approvePromotion, rejectPromotion, requestPromotion } from './promotions.ts';
import { activateRelease, revokeRelease, rollbackRelease, stageRelease } from './release-moves.ts';
import {
  diffRelease,
  getRelease,
  getReleaseFile,
  listReleaseFiles,
  listReleases,
  type ReleaseFileDeps,
} from './releases.ts';
import { disableStaging, enableStaging, getSite, setSite, unpublishSite } from './site.ts';

import { grantUpload, type SiteDeps } from './upload-grant.ts';

export const staticSiteRoutes = (deps: SiteDeps & ReleaseFileDeps): Route[] =>
  routes(endpoints, shapes, {
    getSite: (ctx) => getSite(ctx, deps),
    setSite: (ctx, { body }) => setSite(ctx, body, deps),
    enableStaging: (ctx) => enableStaging(ctx, deps),
    disableStaging: (ctx) => disableStaging(ctx, deps),
    unpublishSite: (ctx) => unpublishSite(ctx, deps),
    listReleases: (ctx, { query }) => listReleases(ctx, query),
    getRelease: (ctx, { params }) => getRelease(ctx, { id: params.release }),
    listReleaseFiles: (ctx, { params, query }) => listReleaseFiles(ctx, { id: params.release, ...query }),
    diffRelease: (ctx, { params, query }) => diffRelease(ctx, { id: params.release, ...query }),
    getReleaseFile: (ctx, { params, query }) => getReleaseFile(ctx, { id: params.release, ...query }, deps),
    createRelease: (ctx, { body }) => createRelease(ctx, body, deps),
    grantUpload: (ctx, { params }) => grantUpload(ctx, { id: params.release }, deps),
    finalizeRelease: (ctx, { params }) => finalizeRelease(ctx, { id: params.release }, deps),
    stageRelease: (ctx, { params }) => stageRelease(ctx, { id: params.release }, deps),
    activateRelease: (ctx, { params }) => activateRelease(ctx, { id: params.release }, deps),
    rollbackRelease: (ctx, { params }) => rollbackRelease(ctx, { id: params.release }, deps),
    revokeRelease: (ctx, { params }) => revokeRelease(ctx, { id: params.release }, deps),
    requestPromotion: (ctx, { params, body }) => requestPromotion(ctx, { id: params.release, ...body }),
    approvePromotion: (ctx, { params, body }) => approvePromotion(ctx, { id: params.release, ...body }, deps),
    rejectPromotion: (ctx, { params, body }) => rejectPromotion(ctx, { id: params.release, ...body }),
  });
