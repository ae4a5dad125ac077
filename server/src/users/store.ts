import type { userStatuses } from '@svc/contract/identity.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';
import { isUuid } from '../plumbing/ref.ts';

/** People belong to no tenant of their own, so nothing here takes one. */
export interface UserRow {
  id: string;
  email: string;
  name: string;
  password_hash: string | null;
  status: (typeof userStatuses)[number];
  created_at: Date;
}
type Tables = { users: UserRow };

export function findUserRow(db: Db, ref: string): Promise<UserRow | undefined> {
  return byRef(db, ref).executeTakeFirst();
}

export function findUserRows(db: Db, ids: readonly string[]): Promise<UserRow[]> {
  return db.withTables<Tables>().selectFrom('users').selectAll().where('id', 'in', ids).execute();
}

export function lockUserRow(tx: Tx, id: string): Promise<UserRow | undefined> {
  return byRef(tx, id).forNoKeyUpdate().executeTakeFirst();
}

export function listUserRows(db: Db): Promise<UserRow[]> {
  return db.withTables<Tables>().selectFrom('users').selectAll().orderBy('email').execute();
}

/** False when another user has the address. */
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
  set: Partial<Pick<UserRow, 'status' | 'password_hash'>>,
): Promise<void> {
  await tx.withTables<Tables>().updateTable('users').set(set).where('id', '=', id).execute();
}

function byRef(db: Db, ref: string) {
  const query = db.withTables<Tables>().selectFrom('users').selectAll();
  return isUuid(ref) ? query.where('id', '=', ref) : query.where(sql`lower(email)`, '=', ref.toLowerCase());
}
