import type { BuildSettings } from '@svc/contract/detect/settings.ts';
import * as shapes from '@svc/contract/templates.shapes.ts';
import * as endpoints from '@svc/contract/templates.ts';
import { type Route, route, routes } from '../../http/router.ts';
import type { GitDeps } from '../git-connections/deps.ts';
import { createTemplate, deleteTemplate, detectTemplate, listTemplates } from './templates.ts';

export const templateRoutes: Route[] = routes(endpoints, shapes, {
  listTemplates: (ctx, { query }) => listTemplates(ctx, query),
});

export const ownTemplateRoutes = (deps: GitDeps): Route[] => [
  ...routes(endpoints, shapes, {
    deleteTemplate: (ctx, { params }) => deleteTemplate(ctx, { id: params.template }),
  }),
  route(
    endpoints.createTemplate,
    shapes.createTemplate,
    (ctx, { body }, settings: BuildSettings) => createTemplate(ctx, body, settings),
    { prepare: (ctx, { body }) => detectTemplate(ctx, body, deps) },
  ),
];
