import * as shapes from '@svc/contract/categories.shapes.ts';
import * as endpoints from '@svc/contract/categories.ts';
import { type Route, routes } from '../../http/router.ts';
import { requireUploadedIcon } from '../require-uploaded-icon.ts';
import { createCategory, deleteCategory, getCategory, listCategories, updateCategory } from './categories.ts';

export const categoryRoutes = (platform: { baseUrl: string } | null): Route[] =>
  routes(endpoints, shapes, {
    listCategories: (ctx, { query }) => listCategories(ctx, query),
    createCategory: (ctx, { body }) => {
      requireUploadedIcon(platform, { icon_url: body.icon_url });
      return createCategory(ctx, body);
    },
    getCategory: (ctx, { params }) => getCategory(ctx, params.categoryID),
    updateCategory: (ctx, { params, body }) => {
      requireUploadedIcon(platform, { icon_url: body.icon_url });
      return updateCategory(ctx, { category: params.categoryID, set: body });
    },
    deleteCategory: (ctx, { params }) => deleteCategory(ctx, params.categoryID),
  });
