import { sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';

export interface PasskeyRow {
  id: string;
  user_id: string;
  credential_id: string;
  public_key: Buffer;
  counter: number;
  transports: string[];
  name: string;
  created_at: Date;
  last_used_at: Date | null;
}

export interface AuthenticatorAppRow {
  id: string;
  user_id: string;
  secret_sealed: Buffer;
  last_step: number;
  name: string;
  created_at: Date;
  last_used_at: Date | null;
}

type Tables = {
  passkeys: PasskeyRow;
  authenticator_apps: AuthenticatorAppRow;
  recovery_codes: { user_id: string; code_hash: string };
};

export function listPasskeyRows(db: Db, userId: string): Promise<PasskeyRow[]> {
  const query = db.withTables<Tables>().selectFrom('passkeys').selectAll().where('user_id', '=', userId);
  return query.orderBy('created_at').orderBy('id').execute();
}

/** Returns the users who sign in with a password alone. */
export async function filterPasswordOnly(db: Db, userIds: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select u.id from svc.users u where u.id = any(${userIds}) and u.password_hash is not null
      and not exists (select from svc.passkeys p where p.user_id = u.id)
      and not exists (select from svc.authenticator_apps a where a.user_id = u.id)`.execute(db);
  return rows.map(({ id }) => id);
}

export function findPasskeyRow(db: Db, credentialId: string): Promise<PasskeyRow | undefined> {
  const query = db.withTables<Tables>().selectFrom('passkeys').selectAll();
  return query.where('credential_id', '=', credentialId).executeTakeFirst();
}

/** Returns false when the credential is registered already. */
export async function insertPasskeyRow(tx: Tx, row: PasskeyRow): Promise<boolean> {
  const inserted = await tx
    .withTables<Tables>()
    .insertInto('passkeys')
    .values(row)
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted !== undefined;
}

export async function recordPasskeyUse(db: Db, id: string, counter: number): Promise<void> {
  await sql`update svc.passkeys set counter = ${counter}, last_used_at = now() where id = ${id}`.execute(db);
}

export function findAppRow(db: Db, userId: string): Promise<AuthenticatorAppRow | undefined> {
  const query = db.withTables<Tables>().selectFrom('authenticator_apps').selectAll();
  return query.where('user_id', '=', userId).executeTakeFirst();
}

/** A user has one authenticator app; a new one replaces it. */
export async function saveAppRow(tx: Tx, row: AuthenticatorAppRow): Promise<void> {
  await deleteAppRow(tx, row.user_id);
  await tx.withTables<Tables>().insertInto('authenticator_apps').values(row).execute();
}

/** Returns false when a code of this or a later step was accepted before. */
export async function recordAppUse(db: Db, id: string, step: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.authenticator_apps set last_step = ${step}, last_used_at = now()
    where id = ${id} and last_step < ${step}`.execute(db);
  return numAffectedRows === 1n;
}

export async function renameRow(tx: Tx, kind: FactorKind, id: string, name: string): Promise<void> {
  await tx.withTables<Tables>().updateTable(tableOf[kind]).set({ name }).where('id', '=', id).execute();
}

export async function deleteRow(tx: Tx, kind: FactorKind, id: string): Promise<void> {
  await tx.withTables<Tables>().deleteFrom(tableOf[kind]).where('id', '=', id).execute();
}

export type FactorKind = 'passkey' | 'totp';
const tableOf = { passkey: 'passkeys', totp: 'authenticator_apps' } as const;

async function deleteAppRow(tx: Tx, userId: string): Promise<void> {
  await tx.withTables<Tables>().deleteFrom('authenticator_apps').where('user_id', '=', userId).execute();
}

export async function countRecoveryCodes(db: Db, userId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from svc.recovery_codes where user_id = ${userId}`.execute(db);
  return rows[0]?.count ?? 0;
}

export async function replaceRecoveryCodes(tx: Tx, userId: string, hashes: readonly string[]): Promise<void> {
  await sql`delete from svc.recovery_codes where user_id = ${userId}`.execute(tx);
  await sql`insert into svc.recovery_codes (user_id, code_hash)
    select ${userId}, hash from unnest(${hashes}::text[]) as hash`.execute(tx);
}

/** Returns false when there is no such code; a code works once. */
export async function takeRecoveryCode(db: Db, userId: string, hash: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from svc.recovery_codes where user_id = ${userId} and code_hash = ${hash}`.execute(db);
  return numAffectedRows === 1n;
}

export async function deleteFactorRows(tx: Tx, userId: string): Promise<void> {
  await deleteAppRow(tx, userId);
  await sql`delete from svc.passkeys where user_id = ${userId}`.execute(tx);
  await sql`delete from svc.recovery_codes where user_id = ${userId}`.execute(tx);
}
