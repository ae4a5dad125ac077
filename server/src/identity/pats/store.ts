import type { Pat } from '@svc/contract/identity.shapes.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { Db, Tx } from '../../core/db.ts';
import type { PageWindow } from '../../core/paging.ts';

type Times = 'created_at' | 'expires_at' | 'revoked_at' | 'last_used_at';
export interface PatRow extends Omit<z.output<typeof Pat>, 'status' | 'allows' | Times> {
  secret_hash: string;
  created_at: Date;
  expires_at: Date;
  revoked_at: Date | null;
  last_used_at: Date | null;
}
type Tables = { pats: PatRow };

export async function listPatRows(db: Db, tenantId: string, userId: string | 'everyone', window: PageWindow) {
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

/** Serializes token creation per user, so that the limit can be counted. */
export async function lockUserPats(tx: Tx, tenantId: string, userId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`pats ${tenantId} ${userId}`}, 0))`.execute(tx);
}

export async function countActivePats(tx: Tx, tenantId: string, userId: string, now: Date): Promise<number> {
  const { total } = await selectActive(tx, tenantId, now)
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('user_id', '=', userId)
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

export function lockActivePatRows(
  tx: Tx,
  { tenantId, of, now }: { tenantId: string; of: { userId: string } | { appId: string }; now: Date },
): Promise<PatRow[]> {
  const owned =
    'userId' in of ? sql<boolean>`user_id = ${of.userId}` : sql<boolean>`apps @> array[${of.appId}]`;
  return selectActive(tx, tenantId, now).selectAll().where(owned).orderBy('id').forUpdate().execute();
}

function selectActive(tx: Tx, tenantId: string, now: Date) {
  return tx
    .withTables<Tables>()
    .selectFrom('pats')
    .where('tenant_id', '=', tenantId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now);
}

export async function saveApps(tx: Tx, tenantId: string, id: string, apps: string[]): Promise<void> {
  await sql`update svc.pats set apps = ${apps} where tenant_id = ${tenantId} and id = ${id}`.execute(tx);
}

export async function markRevoked(tx: Tx, tenantId: string, id: string, at: Date): Promise<void> {
  await sql`update svc.pats set revoked_at = ${at} where tenant_id = ${tenantId} and id = ${id}`.execute(tx);
}

/** Without a tenant: the secret identifies it. */
export function findPatRowByHash(db: Db, hash: string): Promise<PatRow | undefined> {
  return db
    .withTables<Tables>()
    .selectFrom('pats')
    .selectAll()
    .where('secret_hash', '=', hash)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
}

/** Writes nothing when another server recorded a use after `ifBefore`. */
export async function markUsed(
  db: Db,
  tenantId: string,
  id: string,
  { at, ifBefore }: { at: Date; ifBefore: Date },
): Promise<void> {
  await sql`
    update svc.pats set last_used_at = ${at}
    where tenant_id = ${tenantId} and id = ${id}
      and (last_used_at is null or last_used_at <= ${ifBefore})`.execute(db);
}
