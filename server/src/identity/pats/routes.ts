import * as shapes from '@svc/contract/identity.shapes.ts';
import * as endpoints from '@svc/contract/identity.ts';
import { type Route, routes } from '../../http/router.ts';
import { createPat, listPats, revokePat } from './pats.ts';

export const patRoutes: Route[] = routes(endpoints, shapes, {
  listPats: (ctx, { query: { all, ...page } }) =>
    listPats(ctx, { ...page, of: all === 'true' ? 'everyone' : 'caller' }),
  createPat: (ctx, { body }) => createPat(ctx, body),
  revokePat: (ctx, { params }) => revokePat(ctx, { patId: params.patID }),
});
