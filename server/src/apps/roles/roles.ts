import { appRolesMax } from '@svc/contract/app-roles.ts';
import { type AppCtx, type AppMutationCtx, appRef, type MutationCtx } from '../../core/context.ts';
import { type PageQuery, pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { userTag } from '../../core/tags.ts';
import { isUuid } from '../../core/values.ts';
import { findMember, lockMemberForShare } from '../../people/tenants/members.ts';
import { findUsers } from '../../people/users/users.ts';
import {
  type AppRoleRow,
  countAppRoles,
  deleteAppRoleRow,
  deleteAppRoleRowsOfUser,
  findAppRoleRow,
  insertAppRoleRow,
  listAppRoleRows,
} from './store.ts';

export { listRolesOf } from './store.ts';

export async function listAppRoles(ctx: AppCtx, query: PageQuery) {
  const { rows, total } = await listAppRoleRows(ctx.db, appRef(ctx), pageWindow(query));
  return toPage(query, await appRoleRecords(ctx, rows), total);
}

export async function setAppRole(ctx: AppMutationCtx, input: { role: string; user: string }) {
  const member = await lockMemberForShare(ctx.db, ctx.tenant.id, input.user);
  if (!member || member.status === 'deactivated')
    throw validationError('user', 'is not a member of this tenant', 'unknown_user');
  const row: AppRoleRow = {
    tenant_id: ctx.tenant.id,
    app_id: ctx.app.id,
    role: input.role,
    user_id: member.userId,
    created_by: ctx.caller.userId,
    created_at: ctx.now,
  };
  const isNew = await insertAppRoleRow(ctx.db, row);
  if (isNew && (await countAppRoles(ctx.db, appRef(ctx))) > appRolesMax)
    throw fail('limit_reached', { detail: `The people of an app can have at most ${appRolesMax} roles.` });
  auditRole(ctx, 'set', row, member.email);
  const stored = isNew ? row : orNotFound(await findAppRoleRow(ctx.db, appRef(ctx), row));
  const [record] = await appRoleRecords(ctx, [stored]);
  return { ...orNotFound(record), ...(!isNew && { changed: false as const }) };
}

export async function removeAppRole(
  ctx: AppMutationCtx,
  input: { role: string; user: string },
): Promise<undefined> {
  // Also by the id of somebody who is no longer a member.
  const userId = isUuid(input.user)
    ? input.user.toLowerCase()
    : (await findMember(ctx.db, ctx.tenant.id, input.user))?.userId;
  const row = userId && (await findAppRoleRow(ctx.db, appRef(ctx), { role: input.role, user_id: userId }));
  if (!row)
    throw fail('not_found', { detail: `The person does not have the role ${input.role.slice(0, 63)}.` });
  await deleteAppRoleRow(ctx.db, appRef(ctx), row);
  auditRole(ctx, 'remove', row, input.user);
}

/** Somebody who returns to the tenant starts without roles. */
export async function endAppRolesOfUser(
  ctx: MutationCtx,
  { tenantId, user }: { tenantId: string; user: { id: string; email: string } },
): Promise<void> {
  for (const row of await deleteAppRoleRowsOfUser(ctx.db, tenantId, user.id))
    auditRole(ctx, 'remove', row, user.email);
}

function auditRole(ctx: MutationCtx, change: 'set' | 'remove', row: AppRoleRow, person: string): void {
  const role = { role: row.role, user_id: row.user_id };
  ctx.invalidate(userTag(row.user_id));
  ctx.audit({
    action: `appRoles.${change}`,
    appId: row.app_id,
    target: { kind: 'app_role', id: row.user_id, name: `${row.role}: ${person}` },
    before: change === 'set' ? null : role,
    after: change === 'set' ? role : null,
  });
}

async function appRoleRecords(ctx: Pick<AppCtx, 'db' | 'tenant'>, rows: readonly AppRoleRow[]) {
  const users = await findUsers(ctx, { ids: rows.map(({ user_id }) => user_id) });
  return rows.map(({ role, user_id, created_by, created_at }) => ({
    role,
    user_id,
    email: users.get(user_id)?.email ?? '',
    name: users.get(user_id)?.name ?? '',
    created_by,
    created_at: created_at.toISOString(),
  }));
}
