import * as shapes from '@svc/contract/app-roles.shapes.ts';
import * as endpoints from '@svc/contract/app-roles.ts';
import { type Route, routes } from '../../http/router.ts';
import { listAppRoles, removeAppRole, setAppRole } from './roles.ts';

export const appRoleRoutes: Route[] = routes(endpoints, shapes, {
  listAppRoles: (ctx, { query }) => listAppRoles(ctx, query),
  setAppRole: (ctx, { body }) => setAppRole(ctx, body),
  removeAppRole: (ctx, { params: { role, userID } }) => removeAppRole(ctx, { role, user: userID }),
});
