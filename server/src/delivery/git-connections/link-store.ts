import { sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';
import type { TenantUser } from './deps.ts';

export interface LinkRow {
  id: string;
  tenant_id: string;
  user_id: string;
  host: string;
  account_id: number;
  login: string;
  kind: 'user' | 'organization';
  token_sealed: Buffer;
  token_expires_at: Date | null;
  refresh_sealed: Buffer | null;
  refresh_expires_at: Date | null;
  linked_at: Date;
}
type Tables = { git_links: LinkRow };

export type SealedTokens = Pick<
  LinkRow,
  'token_sealed' | 'token_expires_at' | 'refresh_sealed' | 'refresh_expires_at'
>;

export function listLinkRows(db: Db, user: TenantUser): Promise<LinkRow[]> {
  return selectLinks(db, user).selectAll().orderBy('linked_at').orderBy('id').execute();
}

export function findLinkRow(db: Db, user: TenantUser, host: string): Promise<LinkRow | undefined> {
  return selectLinks(db, user).selectAll().where('host', '=', host).executeTakeFirst();
}

export function lockLinkRow(tx: Tx, user: TenantUser, id: string): Promise<LinkRow | undefined> {
  return selectLinks(tx, user).selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

export function lockLinkRowByHost(tx: Tx, user: TenantUser, host: string): Promise<LinkRow | undefined> {
  return selectLinks(tx, user).selectAll().where('host', '=', host).forUpdate().executeTakeFirst();
}

export async function listLinkedUserIds(
  db: Db,
  tenantId: string,
  { host, accountId }: { host: string; accountId: number },
): Promise<string[]> {
  const { rows } = await sql<{ userId: string }>`select user_id as "userId" from svc.git_links
    where tenant_id = ${tenantId} and host = ${host} and account_id = ${accountId}`.execute(db);
  return rows.map(({ userId }) => userId);
}

export function insertLinkRow(tx: Tx, row: LinkRow): Promise<LinkRow | undefined> {
  return tx
    .withTables<Tables>()
    .insertInto('git_links')
    .values(row)
    .onConflict((conflict) => conflict.columns(['tenant_id', 'user_id', 'host']).doNothing())
    .returningAll()
    .executeTakeFirst();
}

export function updateLinkRow(tx: Tx, user: TenantUser, id: string, set: Partial<LinkRow>): Promise<LinkRow> {
  return tx
    .withTables<Tables>()
    .updateTable('git_links')
    .set(set)
    .where((row) => row.and({ tenant_id: user.tenantId, user_id: user.userId, id }))
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteLinkRow(tx: Tx, user: TenantUser, id: string): Promise<void> {
  await sql`delete from svc.git_links
    where tenant_id = ${user.tenantId} and user_id = ${user.userId} and id = ${id}`.execute(tx);
}

function selectLinks(db: Db, { tenantId, userId }: TenantUser) {
  return db
    .withTables<Tables>()
    .selectFrom('git_links')
    .where((row) => row.and({ tenant_id: tenantId, user_id: userId }));
}
