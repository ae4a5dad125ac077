import { sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';
import { grantHashSql, type OauthModelRow } from './models-store.ts';

type Tables = { oauth_models: OauthModelRow };

/** Joined with its grant: a token that outlived its grant in a race is invalid. */
export function findAccessTokenRow(db: Db, hash: string) {
  return db
    .withTables<Tables>()
    .selectFrom('oauth_models as token')
    .innerJoin('oauth_models as grant', (join) =>
      join
        .on('grant.kind', '=', 'Grant')
        .on('grant.id_hash', '=', grantHashSql)
        .onRef('grant.user_id', '=', 'token.user_id'),
    )
    .select([
      'token.user_id',
      'token.payload',
      'token.client_id',
      'token.grant_id',
      'grant.id_hash as grant_hash',
    ])
    .select(sql<Date | null>`least(token.expires_at, "grant".expires_at)`.as('expires_at'))
    .where('token.kind', '=', 'AccessToken')
    .where('token.id_hash', '=', hash)
    .executeTakeFirst();
}

export function findSessionRow(db: Db, by: { hash: string } | { uid: string }) {
  const query = db.withTables<Tables>().selectFrom('oauth_models').selectAll().where('kind', '=', 'Session');
  const found = 'hash' in by ? query.where('id_hash', '=', by.hash) : query.where('uid', '=', by.uid);
  return found.executeTakeFirst();
}

export type SignInRow = Pick<
  OauthModelRow,
  'kind' | 'id_hash' | 'client_id' | 'grant_id' | 'created_at' | 'expires_at' | 'address' | 'device'
>;

export function listLiveRows(db: Db, userId: string, now: Date): Promise<SignInRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('oauth_models')
    .select(['kind', 'id_hash', 'client_id', 'grant_id', 'created_at', 'expires_at', 'address', 'device'])
    .where('user_id', '=', userId)
    .where('kind', 'in', ['Session', 'Grant', 'AccessToken', 'RefreshToken'])
    .where('consumed_at', 'is', null)
    .where((e) => e.or([e('expires_at', 'is', null), e('expires_at', '>', now)]))
    .orderBy('created_at', 'desc')
    .orderBy('id_hash')
    .execute();
}

export function listSignInNames(db: Db, userId: string) {
  return selectSignIns(db, userId).select(['id_hash', 'created_at']).execute();
}

export function findSignInRow(db: Db, userId: string, idHash: string): Promise<OauthModelRow | undefined> {
  return selectSignIns(db, userId).selectAll().where('id_hash', '=', idHash).executeTakeFirst();
}

export function lockSignInRow(tx: Tx, userId: string, idHash: string): Promise<OauthModelRow | undefined> {
  return selectSignIns(tx, userId).selectAll().where('id_hash', '=', idHash).forUpdate().executeTakeFirst();
}

function selectSignIns(db: Db, userId: string) {
  return db
    .withTables<Tables>()
    .selectFrom('oauth_models')
    .where('user_id', '=', userId)
    .where('kind', 'in', ['Session', 'Grant']);
}

export async function deleteSession(tx: Tx, userId: string, idHash: string): Promise<void> {
  await sql`
    delete from svc.oauth_models
    where user_id = ${userId} and kind = 'Session' and id_hash = ${idHash}`.execute(tx);
}

export async function deleteSessionsOf(tx: Tx, userIds: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ user_id: string }>`
    delete from svc.oauth_models where kind = 'Session' and user_id = any(${userIds}) returning user_id`.execute(
    tx,
  );
  return [...new Set(rows.map((row) => row.user_id))];
}

/** In the order of `deleteGrants`. `keep`: the hash of a session or grant, which remains with its tokens. */
export async function deleteModelsOf(
  tx: Tx,
  column: 'user_id' | 'client_id',
  id: string,
  { keep = '', clientId }: { keep?: string | undefined; clientId?: string } = {},
): Promise<void> {
  const models = tx
    .withTables<Tables>()
    .deleteFrom('oauth_models')
    .where(column, '=', id)
    .where('id_hash', '<>', keep)
    .$if(clientId !== undefined, (of) => of.where('client_id', '=', clientId ?? ''))
    .where(sql<boolean>`encode(sha256(convert_to(coalesce(grant_id, ''), 'UTF8')), 'hex') <> ${keep}`);
  await models.where('kind', '=', 'Grant').execute();
  await models.execute();
}

export async function listSignedInApps(
  db: Db,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<{ id: string }[]> {
  const { rows } = await sql<{ id: string }>`
    select a.id from svc.apps a where a.tenant_id = ${tenantId}
      and a.id::text in (select client_id from svc.oauth_models where user_id = ${userId})`.execute(db);
  return rows;
}

export async function insertModelRows(tx: Tx, rows: OauthModelRow[]): Promise<void> {
  await tx.withTables<Tables>().insertInto('oauth_models').values(rows).execute();
}
