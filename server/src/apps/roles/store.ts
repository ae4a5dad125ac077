import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { fetchPage, type PageWindow } from '../../core/paging.ts';

export interface AppRoleRow {
  tenant_id: string;
  app_id: string;
  role: string;
  user_id: string;
  created_by: string;
  created_at: Date;
}
type Tables = { app_roles: AppRoleRow };

export function listAppRoleRows(db: Db, app: AppRef, window: PageWindow) {
  return fetchPage(selectRoles(db, app).orderBy('role').orderBy('user_id'), window);
}

export async function listRolesOf(db: Db, app: AppRef, userId: string): Promise<string[]> {
  const rows = await selectRoles(db, app).where('user_id', '=', userId).orderBy('role').execute();
  return rows.map(({ role }) => role);
}

export async function countAppRoles(db: Db, app: AppRef): Promise<number> {
  const { total } = await rolesQuery(db, app)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return total;
}

/** False if the person has the role already. */
export async function insertAppRoleRow(tx: Tx, row: AppRoleRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .withTables<Tables>()
    .insertInto('app_roles')
    .values(row)
    .onConflict((e) => e.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

export function findAppRoleRow(db: Db, app: AppRef, { role, user_id }: Pick<AppRoleRow, 'role' | 'user_id'>) {
  return selectRoles(db, app)
    .where((e) => e.and({ role, user_id }))
    .executeTakeFirst();
}

export async function deleteAppRoleRow(
  tx: Tx,
  app: AppRef,
  { role, user_id }: Pick<AppRoleRow, 'role' | 'user_id'>,
): Promise<void> {
  await sql`delete from svc.app_roles
    where tenant_id = ${app.tenantId} and app_id = ${app.appId} and role = ${role} and user_id = ${user_id}`.execute(
    tx,
  );
}

export async function deleteAppRoleRowsOfUser(
  tx: Tx,
  tenantId: string,
  userId: string,
): Promise<AppRoleRow[]> {
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
