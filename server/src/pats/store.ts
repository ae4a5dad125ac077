import type { patActions } from '@svc/contract/identity.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';

export interface PatRow {
  id: string;
  tenant_id: string;
  user_id: string;
  name: string;
  secret_hash: string;
  hint: string;
  actions: (typeof patActions)[number][];
  apps: string[];
  created_at: Date;
  expires_at: Date;
  revoked_at: Date | null;
  last_used_at: Date | null;
}
type Tables = { pats: PatRow };

/** Of one user, or of everyone in the tenant. */
export async function listPatRows(db: Db, tenantId: string, userId: string | 'everyone', window: Window) {
  let query = db.withTables<Tables>().selectFrom('pats').where('tenant_id', '=', tenantId);
  if (userId !== 'everyone') query = query.where('user_id', '=', userId);
  const rows = await query
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(window.limit)
    .offset(window.offset)
    .execute();
  const { total } = await query.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return { rows, total };
}

/** Puts the creations of one person in line, so that a limit counted after it holds. */
export async function lockPatsOf(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`pats ${tenantId} ${userId}`}, 0))`.execute(tx);
}

export async function countActivePats(tx: Tx, tenantId: string, userId: string, now: Date): Promise<number> {
  const { total } = await tx
    .withTables<Tables>()
    .selectFrom('pats')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow();
  return total;
}

export async function insertPatRow(tx: Tx, row: PatRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('pats').values(row).execute();
}

export function lockPatRow(tx: Tx, tenantId: string, id: string): Promise<PatRow | undefined> {
  return tx
    .withTables<Tables>()
    .selectFrom('pats')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

export function lockActivePatRowsOf(tx: Tx, tenantId: string, userId: string, now: Date): Promise<PatRow[]> {
  return tx
    .withTables<Tables>()
    .selectFrom('pats')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .orderBy('id')
    .forUpdate()
    .execute();
}

/** Active ones that are limited to apps, this among them. */
export function lockActivePatRowsNaming(
  tx: Tx,
  tenantId: string,
  appId: string,
  now: Date,
): Promise<PatRow[]> {
  return tx
    .withTables<Tables>()
    .selectFrom('pats')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where(sql<boolean>`apps @> array[${appId}]`)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .orderBy('id')
    .forUpdate()
    .execute();
}

export async function saveApps(tx: Tx, tenantId: string, id: string, apps: string[]): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('pats')
    .set({ apps })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

export async function markRevoked(tx: Tx, tenantId: string, id: string, at: Date): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('pats')
    .set({ revoked_at: at })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .execute();
}

/** The one look-up without a tenant: the secret itself says which tenant it is for. */
export function findPatRowByHash(db: Db, hash: string): Promise<PatRow | undefined> {
  return db
    .withTables<Tables>()
    .selectFrom('pats')
    .selectAll()
    .where('secret_hash', '=', hash)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
}

/** Nothing is written when another copy of the server did so after `ifBefore`. */
export async function markUsed(
  db: Db,
  tenantId: string,
  id: string,
  { at, ifBefore }: { at: Date; ifBefore: Date },
): Promise<void> {
  await db
    .withTables<Tables>()
    .updateTable('pats')
    .set({ last_used_at: at })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .where((e) => e.or([e('last_used_at', 'is', null), e('last_used_at', '<=', ifBefore)]))
    .execute();
}
