import { appRolesMax } from '@svc/contract/app-roles.ts';
import { sql } from 'kysely';
import {
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  appRef,
  type MutationCtx,
} from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import {
  countRows,
  fetchPage,
  type PageQuery,
  type PageWindow,
  pageWindow,
  toPage,
} from '../../core/paging.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { userTag } from '../../core/tags.ts';
import { isUuid } from '../../core/values.ts';
import { findMember, lockMemberForShare } from '../../people/tenants/members.ts';
import { findUsers } from '../../people/users/users.ts';

interface AppRoleRow {
  tenant_id: string;
  app_id: string;
  role: string;
  user_id: string;
  created_by: string;
  created_at: Date;
}
type Tables = { app_roles: AppRoleRow };

function listAppRoleRows(db: Db, app: AppRef, window: PageWindow) {
  return fetchPage(selectRoles(db, app).orderBy('role').orderBy('user_id'), window);
}

export async function listRolesOf(db: Db, app: AppRef, userId: string): Promise<string[]> {
  const rows = await selectRoles(db, app).where('user_id', '=', userId).orderBy('role').execute();
  return rows.map(({ role }) => role);
}

async function insertAppRoleRow(tx: Tx, row: AppRoleRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .withTables<Tables>()
    .insertInto('app_roles')
    .values(row)
    .onConflict((e) => e.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

function findAppRoleRow(db: Db, app: AppRef, { role, user_id }: Pick<AppRoleRow, 'role' | 'user_id'>) {
  return selectRoles(db, app)
    .where((e) => e.and({ role, user_id }))
    .executeTakeFirst();
}

async function deleteAppRoleRow(
  tx: Tx,
  app: AppRef,
  { role, user_id }: Pick<AppRoleRow, 'role' | 'user_id'>,
): Promise<void> {
  await sql`delete from svc.app_roles
    where tenant_id = ${app.tenantId} and app_id = ${app.appId} and role = ${role} and user_id = ${user_id}`.execute(
    tx,
  );
}

async function deleteAppRoleRowsOfUser(tx: Tx, tenantId: string, userId: string): Promise<AppRoleRow[]> {
  const { rows } = await sql<AppRoleRow>`delete from svc.app_roles
    where tenant_id = ${tenantId} and user_id = ${userId} returning *`.execute(tx);
  return rows.sort((one, other) => (`${one.app_id} ${one.role}` < `${other.app_id} ${other.role}` ? -1 : 1));
}

function rolesQuery(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('app_roles')
    .where((e) => e.and({ tenant_id: tenantId, app_id: appId }));
}

const selectRoles = (db: Db, app: AppRef) => rolesQuery(db, app).selectAll();

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
  if (isNew && (await countRows(rolesQuery(ctx.db, appRef(ctx)))) > appRolesMax)
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
  const userId = isUuid(input.user)
    ? input.user.toLowerCase()
    : (await findMember(ctx.db, ctx.tenant.id, input.user))?.userId;
  const row = userId && (await findAppRoleRow(ctx.db, appRef(ctx), { role: input.role, user_id: userId }));
  if (!row)
    throw fail('not_found', { detail: `The person does not have the role ${input.role.slice(0, 63)}.` });
  await deleteAppRoleRow(ctx.db, appRef(ctx), row);
  auditRole(ctx, 'remove', row, input.user);
}

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
