import { CompiledQuery, type Generated, type RawBuilder, sql } from 'kysely';
import type { AdapterPayload } from 'oidc-provider';
import type { Db } from '../../core/db.ts';
import { notifySql } from '../../core/invalidation.ts';
import { credentialTag } from '../../core/tags.ts';
import { sha256 } from '../../core/values.ts';

/** All times come from the database's clock, so servers need not agree on one. */
export interface StoredModel {
  idHash: string;
  payload: AdapterPayload;
  consumedFor: number | null;
  grantId: string | null;
  secondsLeft: number | null;
}

interface ModelToStore extends Pick<StoredModel, 'idHash' | 'payload'> {
  kind: string;
  userCode?: string;
  secondsLeft?: number;
  address: string | null;
  device: string | null;
}

/** Only the fields that are read outside the provider. */
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
  address: string | null;
  device: string | null;
}

type Tables = {
  oauth_models: Omit<OauthModelRow, 'created_at' | 'consumed_at' | 'user_code_hash' | 'expires_at'> & {
    user_code_hash: Generated<string | null>;
    expires_at: Generated<Date | null>;
  };
};

/** Kinds that credential caches depend on: their deletion invalidates caches. */
const invalidatingKinds = ['AccessToken', 'Session', 'Grant'];

/** `renew` updates an existing record and never restores a deleted one. */
export async function storeModel(db: Db, model: ModelToStore, mode: 'insert' | 'renew'): Promise<void> {
  const { kind, idHash, payload, userCode, secondsLeft, address, device } = model;
  const expires =
    secondsLeft === undefined ? undefined : sql<Date>`now() + make_interval(secs => ${secondsLeft})`;
  const json = sql<OauthPayload>`${JSON.stringify(payload)}::jsonb`;
  // Columns with an undefined value are not written.
  const columns = {
    payload: expires
      ? sql<OauthPayload>`${json} || jsonb_build_object('exp', floor(extract(epoch from ${expires}))::bigint)`
      : json,
    user_id: payload.accountId ?? null,
    client_id: payload.clientId ?? null,
    grant_id: payload.grantId ?? null,
    uid: payload.uid ?? null,
    user_code_hash: userCode === undefined ? undefined : sha256(userCode),
    expires_at: expires,
  };
  const models = db.withTables<Tables>();
  if (mode === 'insert') {
    await models
      .insertInto('oauth_models')
      .values({ kind, id_hash: idHash, address, device, ...columns })
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
  column: 'id_hash' | 'uid' | 'user_code_hash',
  value: string,
): Promise<StoredModel | undefined> {
  const { rows } = await sql<StoredModel>`
    select id_hash as "idHash", payload, extract(epoch from now() - consumed_at)::float8 as "consumedFor",
      grant_id as "grantId",
      extract(epoch from expires_at - now())::float8 as "secondsLeft"
    from svc.oauth_models where kind = ${kind} and ${sql.ref(column)} = ${value} order by created_at desc limit 1`.execute(
    db,
  );
  return rows[0];
}

export async function consumeModel(db: Db, model: { kind: string; idHash: string }): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.oauth_models set consumed_at = now() where ${isModel(model)} and consumed_at is null`.execute(
    db,
  );
  return numAffectedRows === 1n;
}

/** For a retry shortly after the first use. The successor counts as consumed, so that a later use of it reveals theft. */
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

export interface DeleteDeps {
  db: Db;
  /** Invalidates the caches of this process; the notification of the commit reaches it later. */
  onCommitted?: ((tag: string) => void) | undefined;
}

export async function deleteModel(
  deps: DeleteDeps,
  model: { kind: string; idHash: string },
): Promise<boolean> {
  return (await deleteAndInvalidate(deps, (tx) => deleteModels(tx, isModel(model)))) > 0;
}

export async function deleteModelsOfGrant(deps: DeleteDeps, kind: string, grantId: string): Promise<void> {
  const filter = sql`kind = ${kind} and grant_id = ${grantId}`;
  await deleteAndInvalidate(deps, (tx) => deleteModels(tx, filter));
}

export async function revokeGrant(deps: DeleteDeps, grantId: string): Promise<void> {
  await deleteAndInvalidate(deps, (tx) => deleteGrants(tx, { id: grantId }));
}

export async function listGrantedScopes(
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

/** Grants are stored under the hash of their id; tokens reference the id itself. */
export const grantHashSql = sql<string>`encode(sha256(convert_to(token.grant_id, 'UTF8')), 'hex')`;

/** Grants first: a token that is being issued locks its grant, so the second statement finds it. */
export async function deleteGrants(
  tx: Db,
  filter: { id: string } | { userId: string; hashes: readonly string[] },
): Promise<DeletedModel[]> {
  const [grants, issued] =
    'id' in filter
      ? [sql`id_hash = ${sha256(filter.id)}`, sql`grant_id = ${filter.id}`]
      : [
          sql`user_id = ${filter.userId} and id_hash = any(${filter.hashes})`,
          sql`user_id = ${filter.userId} and ${grantHashSql} = any(${filter.hashes})`,
        ];
  const first = await deleteModels(tx, sql`kind = 'Grant' and ${grants}`);
  // An interaction continues without its grant and asks for consent again.
  return [...first, ...(await deleteModels(tx, sql`kind <> 'Interaction' and ${issued}`))];
}

type DeletedModel = Pick<OauthModelRow, 'kind' | 'id_hash'>;

/** Rotations count up from the sign-in; a grant can have several of these chains. */
function isSuccessor(predecessor: 'used' | 'again'): RawBuilder<unknown> {
  const before = sql.ref(predecessor);
  return sql`next.kind = 'RefreshToken' and next.grant_id = ${before}.grant_id
    and next.payload -> 'iiat' = ${before}.payload -> 'iiat'
    and (next.payload ->> 'rotations')::int = (${before}.payload ->> 'rotations')::int + 1`;
}

function isModel({ kind, idHash }: { kind: string; idHash: string }): RawBuilder<unknown> {
  return sql`kind = ${kind} and id_hash = ${idHash}`;
}

async function deleteAndInvalidate(
  { db, onCommitted }: DeleteDeps,
  deleteSome: (tx: Db) => Promise<DeletedModel[]>,
): Promise<number> {
  const deleted = await db.transaction().execute(async (tx) => {
    const models = await deleteSome(tx);
    for (const tag of changedTags(models)) await tx.executeQuery(CompiledQuery.raw(notifySql, [tag]));
    return models;
  });
  if (onCommitted) changedTags(deleted).forEach(onCommitted);
  return deleted.length;
}

async function deleteModels(tx: Db, filter: RawBuilder<unknown>): Promise<DeletedModel[]> {
  const { rows } = await sql<DeletedModel>`
    delete from svc.oauth_models as token where ${filter} returning kind, id_hash`.execute(tx);
  return rows;
}

const changedTags = (deleted: readonly DeletedModel[]) =>
  deleted.filter(({ kind }) => invalidatingKinds.includes(kind)).map((row) => credentialTag(row.id_hash));

/** Retained, so that an expired code can be distinguished from an unknown one. */
const retainedAfterExpiry = sql`interval '1 hour'`;
const batchMax = 1_000;

export async function deleteExpiredModels(db: Db): Promise<void> {
  for (let deleted = batchMax; deleted === batchMax; ) {
    const { numAffectedRows } = await sql`
      delete from svc.oauth_models where (kind, id_hash) in (
        select kind, id_hash from svc.oauth_models
        where expires_at < now() - ${retainedAfterExpiry} limit ${batchMax} for update skip locked
      )`.execute(db);
    deleted = Number(numAffectedRows ?? 0);
  }
}

export interface PollInterval {
  seconds: number;
  increment: number;
  secondsMax: number;
  toleranceSeconds: number;
}

/** Returns the new interval, or null. Stored in the database: any server may get the next poll. */
export async function recordPoll(
  db: Db,
  { deviceCode, expiresIn, interval }: { deviceCode: string; expiresIn: number; interval: PollInterval },
): Promise<number | null> {
  const seconds = sql`(poll.payload ->> 'seconds')::int`;
  const early = sql`poll.created_at + make_interval(secs => ${seconds} - ${interval.toleranceSeconds}::int) > now()`;
  const slower = sql`least(${seconds} + ${interval.increment}::int, ${interval.secondsMax}::int)`;
  const { rows } = await sql<{ seconds: number; early: boolean }>`
    insert into svc.oauth_models as poll (kind, id_hash, payload, expires_at)
    values ('DevicePoll', ${sha256(deviceCode)},
      jsonb_build_object('seconds', ${interval.seconds}::int, 'early', false), now() + make_interval(secs => ${expiresIn}))
    on conflict (kind, id_hash) do update set
      created_at = now(),
      payload = jsonb_build_object('early', ${early}, 'seconds', case when ${early} then ${slower} else ${seconds} end)
    returning (payload ->> 'seconds')::int as seconds, (payload ->> 'early')::bool as early`.execute(db);
  return rows[0]?.early ? rows[0].seconds : null;
}
