import { CompiledQuery, type Generated, type RawBuilder, sql } from 'kysely';
import type { AdapterPayload } from 'oidc-provider';
import { sha256 } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';
import { notifySql } from '../plumbing/invalidation.ts';
import { credentialTag } from './tags.ts';

/** One record of the OpenID provider, as it is stored. All times are the database's, so copies need not agree on one. */
export interface StoredModel {
  idHash: string;
  payload: AdapterPayload;
  /** Seconds since it was used up; null while it is not. */
  consumedFor: number | null;
  grantId: string | null;
  /** Until it expires; below zero once it has. */
  secondsLeft: number | null;
}

export interface ModelToStore {
  kind: string;
  idHash: string;
  payload: AdapterPayload;
  userCode: string | undefined;
  secondsLeft: number | undefined;
}

/** The fields of a record that are read outside the provider; it keeps more of them. */
export interface OauthPayload {
  accountId?: string;
  clientId?: string;
  grantId?: string;
  aud?: unknown;
  sessionUid?: string;
  expiresWithSession?: boolean;
  authorizations?: Record<string, { grantId?: string; persistsLogout?: boolean }>;
  [field: string]: unknown;
}

export interface OauthModelRow {
  kind: string;
  id_hash: string;
  payload: OauthPayload;
  user_id: string | null;
  client_id: string | null;
  grant_id: string | null;
  uid: string | null;
  user_code_hash: string | null;
  created_at: Date;
  expires_at: Date | null;
  consumed_at: Date | null;
}

/** Columns that the database fills in are left to it here; `sessions` writes whole rows. */
type Tables = {
  oauth_models: Omit<OauthModelRow, 'created_at' | 'consumed_at' | 'user_code_hash' | 'expires_at'> & {
    user_code_hash: Generated<string | null>;
    expires_at: Generated<Date | null>;
  };
};

/** What an access to the API rests on: whoever keeps one in a cache has to hear of its end. */
const kindsToTell = ['AccessToken', 'Session', 'Grant'];

/** `renew` changes what is there and leaves alone what is gone. */
export async function storeModel(db: Db, model: ModelToStore, mode: 'insert' | 'renew'): Promise<void> {
  const { kind, idHash, payload, userCode, secondsLeft } = model;
  const json = sql<OauthPayload>`${JSON.stringify(payload)}::jsonb`;
  const columns = {
    payload: json,
    user_id: payload.accountId ?? null,
    client_id: payload.clientId ?? null,
    grant_id: payload.grantId ?? null,
    uid: payload.uid ?? null,
    ...(userCode === undefined ? {} : { user_code_hash: sha256(userCode) }),
    ...(secondsLeft === undefined
      ? {}
      : {
          payload: sql<OauthPayload>`${json} || jsonb_build_object('exp', ${epochIn(secondsLeft)})`,
          expires_at: sql<Date>`now() + make_interval(secs => ${secondsLeft})`,
        }),
  };
  const models = db.withTables<Tables>();
  if (mode === 'insert') {
    await models
      .insertInto('oauth_models')
      .values({ kind, id_hash: idHash, ...columns })
      .onConflict((conflict) => conflict.columns(['kind', 'id_hash']).doUpdateSet(columns))
      .execute();
  } else {
    await models
      .updateTable('oauth_models')
      .set(columns)
      .where('kind', '=', kind)
      .where('id_hash', '=', idHash)
      .execute();
  }
}

export async function findModel(
  db: Db,
  kind: string,
  by: { idHash: string } | { uid: string } | { userCode: string },
): Promise<StoredModel | undefined> {
  const condition =
    'idHash' in by
      ? sql`id_hash = ${by.idHash}`
      : 'uid' in by
        ? sql`uid = ${by.uid}`
        : sql`user_code_hash = ${sha256(by.userCode)}`;
  const { rows } = await sql<StoredModel>`
    select id_hash as "idHash", payload, extract(epoch from now() - consumed_at)::float8 as "consumedFor",
      grant_id as "grantId",
      extract(epoch from expires_at - now())::float8 as "secondsLeft"
    from svc.oauth_models where kind = ${kind} and ${condition} order by created_at desc limit 1`.execute(db);
  return rows[0];
}

/** False when it was consumed before, or is gone. */
export async function consumeModel(db: Db, model: { kind: string; idHash: string }): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.oauth_models set consumed_at = now() where ${isModel(model)} and consumed_at is null`.execute(
    db,
  );
  return numAffectedRows === 1n;
}

/**
 * Uses up a refresh token for the second time, a moment after the first, and takes what the first use gave for used up
 * before it was made: whoever has that after all is told apart by it. False when its moment is over, or when what it
 * gave is in use.
 */
export async function consumeAgain(
  db: Db,
  { idHash, withinSeconds }: { idHash: string; withinSeconds: number },
): Promise<boolean> {
  const { rows } = await sql<{ id_hash: string }>`
    with again as (
      select id_hash, grant_id, payload from svc.oauth_models as used
      where kind = 'RefreshToken' and id_hash = ${idHash}
        and consumed_at > now() - make_interval(secs => ${withinSeconds})
        and not exists (
          select from svc.oauth_models as next
          where ${isSuccessor('used')} and next.consumed_at >= next.created_at
        )
      for update
    ), missed as (
      update svc.oauth_models as next set consumed_at = next.created_at - interval '1 day' from again
      where ${isSuccessor('again')}
    )
    select id_hash from again`.execute(db);
  return rows.length > 0;
}

/** False when it was gone already. */
export async function deleteModel(db: Db, model: { kind: string; idHash: string }): Promise<boolean> {
  return (await deleteAndTell(db, isModel(model))) > 0;
}

export async function deleteModelsOfGrant(db: Db, kind: string, grantId: string): Promise<void> {
  await deleteAndTell(db, sql`kind = ${kind} and grant_id = ${grantId}`);
}

/** Ends a grant with every token under it. */
export async function revokeGrant(db: Db, grantId: string): Promise<void> {
  await db.transaction().execute(async (tx) => tell(tx, await deleteGrants(tx, { id: grantId })));
}

/** What the person has allowed the client in grants that still stand. */
export async function grantedScopesOf(
  db: Db,
  { userId, clientId }: { userId: string; clientId: string },
): Promise<Set<string>> {
  const { rows } = await sql<{ scope: string | null }>`
    select payload -> 'openid' ->> 'scope' as scope from svc.oauth_models
    where kind = 'Grant' and user_id = ${userId} and client_id = ${clientId} and expires_at > now()`.execute(
    db,
  );
  return new Set(rows.flatMap(({ scope }) => scope?.split(' ') ?? []));
}

/** A grant is filed under the hash of its id, as everything here; what was issued under it names it by the id itself. */
export const grantHashSql = sql<string>`encode(sha256(convert_to(token.grant_id, 'UTF8')), 'hex')`;

/**
 * Grants with whatever was issued under them. The grants go first: what is being issued under one at this moment
 * holds on to it, and is there to be found by the second statement.
 */
export async function deleteGrants(
  tx: Db,
  which: { id: string } | { userId: string; hashes: readonly string[] },
): Promise<DeletedModel[]> {
  const [grants, issued] =
    'id' in which
      ? [sql`id_hash = ${sha256(which.id)}`, sql`grant_id = ${which.id}`]
      : [
          sql`user_id = ${which.userId} and id_hash = any(${which.hashes})`,
          sql`user_id = ${which.userId} and ${grantHashSql} = any(${which.hashes})`,
        ];
  const first = await deleteModels(tx, sql`kind = 'Grant' and ${grants}`);
  // An interaction goes on without it, and asks for consent anew.
  return [...first, ...(await deleteModels(tx, sql`kind <> 'Interaction' and ${issued}`))];
}

type DeletedModel = Pick<OauthModelRow, 'kind' | 'id_hash'>;

/** Renewals count up from the sign-in that began them; a grant can have several of these. */
function isSuccessor(of: 'used' | 'again'): RawBuilder<unknown> {
  const before = sql.ref(of);
  return sql`next.kind = 'RefreshToken' and next.grant_id = ${before}.grant_id
    and next.payload -> 'iiat' = ${before}.payload -> 'iiat'
    and (next.payload ->> 'rotations')::int = (${before}.payload ->> 'rotations')::int + 1`;
}

function epochIn(seconds: number): RawBuilder<number> {
  return sql`floor(extract(epoch from now()) + ${seconds}::float8)::bigint`;
}

function isModel({ kind, idHash }: { kind: string; idHash: string }): RawBuilder<unknown> {
  return sql`kind = ${kind} and id_hash = ${idHash}`;
}

async function deleteAndTell(db: Db, which: RawBuilder<unknown>): Promise<number> {
  return await db.transaction().execute(async (tx) => {
    const deleted = await deleteModels(tx, which);
    await tell(tx, deleted);
    return deleted.length;
  });
}

async function deleteModels(tx: Db, which: RawBuilder<unknown>): Promise<DeletedModel[]> {
  const { rows } = await sql<DeletedModel>`
    delete from svc.oauth_models as token where ${which} returning kind, id_hash`.execute(tx);
  return rows;
}

async function tell(tx: Db, deleted: readonly DeletedModel[]): Promise<void> {
  for (const row of deleted) {
    if (!kindsToTell.includes(row.kind)) continue;
    await tx.executeQuery(CompiledQuery.raw(notifySql, [credentialTag(row.id_hash)]));
  }
}
