import * as shapes from '@svc/contract/previews.shapes.ts';
import * as endpoints from '@svc/contract/previews.ts';
import { type Route, routes } from '../../http/router.ts';
import { deletePreview, getPreview, listPreviews, type PreviewUrls, redeployPreview } from './previews.ts';

export const previewRoutes = (urls: PreviewUrls): Route[] =>
  routes(endpoints, shapes, {
    listPreviews: (ctx, { query }) => listPreviews(ctx, query, urls),
    getPreview: (ctx, { params }) => getPreview(ctx, { slug: params.preview }, urls),
    redeployPreview: (ctx, { params }) => redeployPreview(ctx, { slug: params.preview }, urls),
    deletePreview: (ctx, { params }) => deletePreview(ctx, { slug: params.preview }),
  });
