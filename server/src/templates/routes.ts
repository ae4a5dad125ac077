import * as shapes from '@svc/contract/templates.shapes.ts';
import * as endpoints from '@svc/contract/templates.ts';
import type { Way } from '../detect/detected.ts';
import type { GitParts } from '../git-connections/git-parts.ts';
import { type Route, route } from '../plumbing/route.ts';
import { createTemplate, lookAtTemplate } from './create-template.ts';
import { deleteTemplate } from './delete-template.ts';
import { listTemplates } from './list-templates.ts';

export const templateRoutes: Route[] = [
  route(endpoints.listTemplates, shapes.listTemplates, (ctx, { query }) => listTemplates(ctx, query)),
];

/** The tenant's own: repositories of the git host. */
export const ownTemplateRoutes = (parts: GitParts): Route[] => [
  route(
    endpoints.createTemplate,
    shapes.createTemplate,
    (ctx, { body }, way: Way) => createTemplate(ctx, body, way),
    { prepare: (ctx, { body }) => lookAtTemplate(ctx, body, parts) },
  ),
  route(endpoints.deleteTemplate, shapes.deleteTemplate, (ctx, { params }) =>
    deleteTemplate(ctx, { id: params.template }),
  ),
];
