import * as shapes from '@svc/contract/identity.shapes.ts';
import * as endpoints from '@svc/contract/identity.ts';
import { type Route, route } from '../plumbing/route.ts';
import { listSessions } from './list-sessions.ts';
import { revokeSession } from './revoke-session.ts';

export const sessionRoutes: Route[] = [
  route(endpoints.listSessions, shapes.listSessions, (ctx, { query }) => listSessions(ctx, query)),
  route(endpoints.revokeSession, shapes.revokeSession, async (ctx, { params }) => {
    await revokeSession(ctx, { session: params.sessionID });
    return undefined;
  }),
];
