import type { userStatuses } from '@svc/contract/identity.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';
import { isUuid } from '../../core/values.ts';

export interface UserRow {
  id: string;
  email: string;
  name: string;
  password_hash: string | null;
  status: (typeof userStatuses)[number];
  created_at: Date;
  provisioned_by: string | null;
}
type Tables = { users: UserRow };

export function findUserRow(db: Db, ref: string): Promise<UserRow | undefined> {
  return selectByRef(db, ref).executeTakeFirst();
}

export function findUserRows(db: Db, ids: readonly string[]): Promise<UserRow[]> {
  return db.withTables<Tables>().selectFrom('users').selectAll().where('id', 'in', ids).execute();
}

/** The user cannot be suspended before the transaction ends. */
export function lockUserRow(tx: Tx, id: string): Promise<UserRow | undefined> {
  return selectByRef(tx, id).forNoKeyUpdate().executeTakeFirst();
}

export async function filterActiveUsers(db: Db, userIds: readonly string[]): Promise<string[]> {
  // The operator's id is not a UUID.
  const ids = userIds.filter(isUuid);
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: string }>`
    select id from svc.users where id = any(${ids}::uuid[]) and status = 'active' order by id`.execute(db);
  return rows.map((row) => row.id);
}

export function listUserRows(db: Db): Promise<UserRow[]> {
  return db.withTables<Tables>().selectFrom('users').selectAll().orderBy('email').execute();
}

export async function insertUserRow(tx: Tx, row: UserRow): Promise<boolean> {
  const inserted = await tx
    .withTables<Tables>()
    .insertInto('users')
    .values(row)
    .onConflict((conflict) => conflict.expression(sql`lower(email)`).doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted !== undefined;
}

export async function updateUserRow(
  tx: Tx,
  id: string,
  set: Partial<Pick<UserRow, 'status' | 'password_hash' | 'email' | 'name'>>,
): Promise<void> {
  await tx.withTables<Tables>().updateTable('users').set(set).where('id', '=', id).execute();
}

function selectByRef(db: Db, ref: string) {
  const query = db.withTables<Tables>().selectFrom('users').selectAll();
  return isUuid(ref) ? query.where('id', '=', ref) : query.where(sql`lower(email)`, '=', ref.toLowerCase());
}
