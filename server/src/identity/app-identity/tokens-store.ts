import { sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';
import type { PageWindow } from '../../core/paging.ts';

export interface AppTokenRow {
  id: string;
  tenant_id: string;
  app_id: string;
  kind: 'created' | 'exchanged' | 'app' | 'renewal';
  account_id: string | null;
  rule_id: string | null;
  instance_id: string | null;
  name: string;
  is_read_only: boolean;
  secret_hash: string;
  hint: string;
  created_at: Date;
  /** Null for `renewal`, which ends with its instance. */
  expires_at: Date | null;
  last_used_at: Date | null;
}
type Tables = { app_tokens: AppTokenRow };

export async function insertAppTokenRows(db: Db, rows: AppTokenRow[]): Promise<void> {
  await db.withTables<Tables>().insertInto('app_tokens').values(rows).execute();
}

/** Without a tenant: the secret identifies it. */
export function findAppTokenByHash(db: Db, hash: string): Promise<AppTokenRow | undefined> {
  return db
    .withTables<Tables>()
    .selectFrom('app_tokens')
    .selectAll()
    .where('secret_hash', '=', hash)
    .executeTakeFirst();
}

export async function listAccountTokenRows(
  db: Db,
  tenantId: string,
  accountId: string,
  { limit, offset }: PageWindow,
): Promise<{ rows: AppTokenRow[]; total: number }> {
  const query = db
    .withTables<Tables>()
    .selectFrom('app_tokens')
    .where('tenant_id', '=', tenantId)
    .where('account_id', '=', accountId);
  const rows = await query
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute();
  const { total } = await query.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return { rows, total };
}

export async function countCreatedTokens(tx: Tx, accountId: string, now: Date): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::int as total from svc.app_tokens
    where account_id = ${accountId} and kind = 'created' and expires_at > ${now}`.execute(tx);
  return rows[0]?.total ?? 0;
}

export async function deleteAccountToken(
  tx: Tx,
  tenantId: string,
  { accountId, id }: { accountId: string; id: string },
): Promise<AppTokenRow | undefined> {
  return tx
    .withTables<Tables>()
    .deleteFrom('app_tokens')
    .where('tenant_id', '=', tenantId)
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
}

export async function deleteTokensByName(db: Db, appId: string, name: string): Promise<void> {
  await sql`delete from svc.app_tokens where app_id = ${appId} and kind = 'app' and name = ${name}`.execute(
    db,
  );
}

/** Created tokens stay listed for a week after they expire. */
export async function deleteExpiredAppTokens(db: Db): Promise<void> {
  await sql`
    delete from svc.app_tokens
    where expires_at < now() - case kind when 'created' then interval '7 days' else interval '0' end`.execute(
    db,
  );
}

/** Writes nothing when another server recorded a use after `ifBefore`. */
export async function markAppTokenUsed(
  db: Db,
  tenantId: string,
  id: string,
  { at, ifBefore }: { at: Date; ifBefore: Date },
): Promise<void> {
  await sql`
    update svc.app_tokens set last_used_at = ${at}
    where tenant_id = ${tenantId} and id = ${id}
      and (last_used_at is null or last_used_at <= ${ifBefore})`.execute(db);
}
