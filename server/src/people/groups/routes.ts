import * as shapes from '@svc/contract/groups.shapes.ts';
import * as endpoints from '@svc/contract/groups.ts';
import { type Route, routes } from '../../http/router.ts';
import { createGroup, deleteGroup, getGroup, listGroups, updateGroup } from './groups.ts';
import { addGroupMember, listGroupMembers, removeGroupMember } from './members.ts';

export const groupRoutes: Route[] = routes(endpoints, shapes, {
  listGroups: (ctx, { query }) => listGroups(ctx, query),
  createGroup: (ctx, { body }) => createGroup(ctx, body),
  getGroup: (ctx, { params: { group } }) => getGroup(ctx, { group }),
  updateGroup: (ctx, { params: { group }, body }) => updateGroup(ctx, { group, set: body }),
  deleteGroup: (ctx, { params: { group } }) => deleteGroup(ctx, { group }),
  listGroupMembers: (ctx, { params: { group }, query }) => listGroupMembers(ctx, { group, query }),
  addGroupMember: (ctx, { params: { group }, body }) => addGroupMember(ctx, { group, user: body.user_id }),
  removeGroupMember: (ctx, { params: { group, userID } }) => removeGroupMember(ctx, { group, user: userID }),
});
