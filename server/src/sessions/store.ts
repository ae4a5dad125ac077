import { sql } from 'kysely';
import { grantHashSql, type OauthModelRow } from '../identity/oauth-models.ts';
import type { Db, Tx } from '../plumbing/db.ts';

/** The OpenID provider's records, whose type and writing are `identity`'s: here they are read as sign-ins, and ended. */
type Tables = { oauth_models: OauthModelRow };

/** An access token together with its grant: a token that outlived its grant in a race is worth nothing. */
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

export function findSessionRow(
  db: Db,
  by: { hash: string } | { uid: string },
): Promise<OauthModelRow | undefined> {
  const query = db.withTables<Tables>().selectFrom('oauth_models').selectAll().where('kind', '=', 'Session');
  return (
    'hash' in by ? query.where('id_hash', '=', by.hash) : query.where('uid', '=', by.uid)
  ).executeTakeFirst();
}

export type SignInRow = Pick<
  OauthModelRow,
  'kind' | 'id_hash' | 'client_id' | 'grant_id' | 'created_at' | 'expires_at'
>;

/** Sessions, grants and usable tokens of one person that have not ended. */
export function listLiveRows(db: Db, userId: string, now: Date): Promise<SignInRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('oauth_models')
    .select(['kind', 'id_hash', 'client_id', 'grant_id', 'created_at', 'expires_at'])
    .where('user_id', '=', userId)
    .where('kind', 'in', ['Session', 'Grant', 'AccessToken', 'RefreshToken'])
    .where('consumed_at', 'is', null)
    .where((e) => e.or([e('expires_at', 'is', null), e('expires_at', '>', now)]))
    .orderBy('created_at', 'desc')
    .orderBy('id_hash')
    .execute();
}

/** What a person's sign-ins are named by. */
export function listSignInNames(
  db: Db,
  userId: string,
): Promise<Pick<SignInRow, 'id_hash' | 'created_at'>[]> {
  return db
    .withTables<Tables>()
    .selectFrom('oauth_models')
    .select(['id_hash', 'created_at'])
    .where('user_id', '=', userId)
    .where('kind', 'in', ['Session', 'Grant'])
    .execute();
}

export function findSignInRow(
  db: Db,
  userId: string,
  idHash: string,
): Promise<Pick<OauthModelRow, 'expires_at'> | undefined> {
  return db
    .withTables<Tables>()
    .selectFrom('oauth_models')
    .select('expires_at')
    .where('user_id', '=', userId)
    .where('kind', 'in', ['Session', 'Grant'])
    .where('id_hash', '=', idHash)
    .executeTakeFirst();
}

export function lockSignInRow(tx: Tx, userId: string, idHash: string): Promise<OauthModelRow | undefined> {
  return tx
    .withTables<Tables>()
    .selectFrom('oauth_models')
    .selectAll()
    .where('user_id', '=', userId)
    .where('kind', 'in', ['Session', 'Grant'])
    .where('id_hash', '=', idHash)
    .forUpdate()
    .executeTakeFirst();
}

export async function deleteSession(tx: Tx, userId: string, idHash: string): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('oauth_models')
    .where('user_id', '=', userId)
    .where('kind', '=', 'Session')
    .where('id_hash', '=', idHash)
    .execute();
}

/** Sessions, grants, tokens, codes, in the order of `deleteGrants` and for its reason. */
export async function deleteAllOf(tx: Tx, userId: string): Promise<void> {
  const models = tx.withTables<Tables>().deleteFrom('oauth_models').where('user_id', '=', userId);
  await models.where('kind', '=', 'Grant').execute();
  await models.execute();
}

/** The same of everybody, for one client; an app's id is its client's. */
export async function deleteAllOfClient(tx: Tx, clientId: string): Promise<void> {
  const models = tx.withTables<Tables>().deleteFrom('oauth_models').where('client_id', '=', clientId);
  await models.where('kind', '=', 'Grant').execute();
  await models.execute();
}

export async function insertModelRows(tx: Tx, rows: OauthModelRow[]): Promise<void> {
  await tx.withTables<Tables>().insertInto('oauth_models').values(rows).execute();
}
