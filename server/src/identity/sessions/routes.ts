import * as shapes from '@svc/contract/identity.shapes.ts';
import * as endpoints from '@svc/contract/identity.ts';
import { type Route, routes } from '../../http/router.ts';
import { listSessions, revokeSession } from './sessions.ts';

export const sessionRoutes: Route[] = routes(endpoints, shapes, {
  listSessions: (ctx, { query }) => listSessions(ctx, query),
  revokeSession: async (ctx, { params }) => {
    await revokeSession(ctx, { session: params.sessionID });
    return undefined;
  },
});
