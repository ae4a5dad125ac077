import * as shapes from '@svc/contract/templates.shapes.ts';
import * as endpoints from '@svc/contract/templates.ts';
import { type Route, route } from '../plumbing/route.ts';
import { listTemplates } from './list-templates.ts';

export const templateRoutes: Route[] = [
  route(endpoints.listTemplates, shapes.listTemplates, (ctx, { query }) => listTemplates(ctx, query)),
];
