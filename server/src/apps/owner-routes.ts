import * as shapes from '@svc/contract/owners.shapes.ts';
import * as endpoints from '@svc/contract/owners.ts';
import { type Route, route } from '../plumbing/route.ts';
import { addAppMember } from './add-app-member.ts';
import { listAppMembers } from './list-app-members.ts';
import { removeAppMember } from './remove-app-member.ts';
import { transferOwnership } from './transfer-ownership.ts';

export const ownerRoutes: Route[] = [
  route(endpoints.transferOwnership, shapes.transferOwnership, (ctx, { body }) =>
    transferOwnership(ctx, body),
  ),
  route(endpoints.listAppMembers, shapes.listAppMembers, (ctx, { query }) => listAppMembers(ctx, query)),
  route(endpoints.addAppMember, shapes.addAppMember, (ctx, { body }) =>
    addAppMember(ctx, { user: body.user_id }),
  ),
  route(endpoints.removeAppMember, shapes.removeAppMember, (ctx, { params }) =>
    removeAppMember(ctx, { user: params.userID }),
  ),
];
