import type { Db, Tx } from '../plumbing/db.ts';
import type { LinkedPerson } from './git-parts.ts';

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

export function listLinkRows(db: Db, who: LinkedPerson): Promise<LinkRow[]> {
  return linksOf(db, who).selectAll().orderBy('linked_at').orderBy('id').execute();
}

export function findLinkRow(db: Db, who: LinkedPerson, host: string): Promise<LinkRow | undefined> {
  return linksOf(db, who).selectAll().where('host', '=', host).executeTakeFirst();
}

export function lockLinkRow(tx: Tx, who: LinkedPerson, id: string): Promise<LinkRow | undefined> {
  return linksOf(tx, who).selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

export function lockLinkRowAt(tx: Tx, who: LinkedPerson, host: string): Promise<LinkRow | undefined> {
  return linksOf(tx, who).selectAll().where('host', '=', host).forUpdate().executeTakeFirst();
}

/** Nothing keeps two people from linking the same account. */
export async function listUserIdsOfAccount(
  db: Db,
  tenantId: string,
  { host, accountId }: { host: string; accountId: number },
): Promise<string[]> {
  const rows = await db
    .withTables<Tables>()
    .selectFrom('git_links')
    .select('user_id')
    .where('tenant_id', '=', tenantId)
    .where('host', '=', host)
    .where('account_id', '=', accountId)
    .execute();
  return rows.map(({ user_id }) => user_id);
}

/** Undefined where another sign-in to the same host was first. */
export function insertLinkRow(tx: Tx, row: LinkRow): Promise<LinkRow | undefined> {
  return tx
    .withTables<Tables>()
    .insertInto('git_links')
    .values(row)
    .onConflict((conflict) => conflict.columns(['tenant_id', 'user_id', 'host']).doNothing())
    .returningAll()
    .executeTakeFirst();
}

export function saveLinkRow(tx: Tx, who: LinkedPerson, id: string, set: Partial<LinkRow>): Promise<LinkRow> {
  return tx
    .withTables<Tables>()
    .updateTable('git_links')
    .set(set)
    .where('tenant_id', '=', who.tenantId)
    .where('user_id', '=', who.userId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteLinkRow(tx: Tx, who: LinkedPerson, id: string): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('git_links')
    .where('tenant_id', '=', who.tenantId)
    .where('user_id', '=', who.userId)
    .where('id', '=', id)
    .execute();
}

function linksOf(db: Db, { tenantId, userId }: LinkedPerson) {
  return db
    .withTables<Tables>()
    .selectFrom('git_links')
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId);
}
