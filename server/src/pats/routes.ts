import * as shapes from '@svc/contract/identity.shapes.ts';
import * as endpoints from '@svc/contract/identity.ts';
import { type Route, route } from '../plumbing/route.ts';
import { createPat } from './create-pat.ts';
import { listPats } from './list-pats.ts';
import { revokePat } from './revoke-pat.ts';

export const patRoutes: Route[] = [
  route(endpoints.listPats, shapes.listPats, (ctx, { query: { all, ...page } }) =>
    listPats(ctx, { ...page, of: all === 'true' ? 'everyone' : 'caller' }),
  ),
  route(endpoints.createPat, shapes.createPat, (ctx, { body }) => createPat(ctx, body)),
  route(endpoints.revokePat, shapes.revokePat, (ctx, { params }) => revokePat(ctx, { patId: params.patID })),
];
