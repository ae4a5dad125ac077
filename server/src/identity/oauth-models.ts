import { CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { AdapterPayload } from 'oidc-provider';
import { sha256 } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';
import { notifySql } from '../plumbing/invalidation.ts';
import { credentialTag } from './tags.ts';

/** One record of the OpenID provider, as it is stored. All times are the database's, so copies need not agree on one. */
export interface StoredModel {
  idHash: string;
  payload: AdapterPayload;
  consumed: boolean;
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

/** What an access to the API rests on: whoever keeps one in a cache has to hear of its end. */
const kindsToTell = ['AccessToken', 'Session', 'Grant'];

/** `renew` leaves alone what is gone meanwhile; answers whether anything was written. */
export async function storeModel(db: Db, model: ModelToStore, mode: 'insert' | 'renew'): Promise<boolean> {
  const { payload, secondsLeft } = model;
  const expiry = secondsLeft === undefined ? sql`null` : sql`now() + make_interval(secs => ${secondsLeft})`;
  const dated =
    secondsLeft === undefined
      ? sql``
      : sql`|| jsonb_build_object('exp', floor(extract(epoch from now()) + ${secondsLeft}::float8)::bigint)`;
  const fresh = sql`
    insert into svc.oauth_models as model
      (kind, id_hash, payload, user_id, client_id, grant_id, uid, user_code_hash, expires_at)
    select ${model.kind}, ${model.idHash}, ${JSON.stringify(payload)}::jsonb ${dated}, ${payload.accountId ?? null}::uuid,
      ${payload.clientId ?? null}, ${payload.grantId ?? null}, ${payload.uid ?? null},
      ${model.userCode === undefined ? null : sha256(model.userCode)}, ${expiry}`;
  const condition =
    mode === 'insert' ? sql`` : sql`where exists (select from svc.oauth_models where ${isModel(model)})`;
  const { numAffectedRows } = await sql`${fresh} ${condition}
    on conflict (kind, id_hash) do update set
      payload = excluded.payload, user_id = excluded.user_id, client_id = excluded.client_id,
      grant_id = excluded.grant_id, uid = excluded.uid, expires_at = excluded.expires_at,
      user_code_hash = coalesce(excluded.user_code_hash, model.user_code_hash)`.execute(db);
  return numAffectedRows === 1n;
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
    select id_hash as "idHash", payload, consumed_at is not null as consumed, grant_id as "grantId",
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

/** False when it was gone already. */
export async function deleteModel(db: Db, model: { kind: string; idHash: string }): Promise<boolean> {
  return (await deleteAndTell(db, isModel(model))) > 0;
}

export async function deleteModelsOfGrant(db: Db, kind: string, grantId: string): Promise<void> {
  await deleteAndTell(db, sql`kind = ${kind} and grant_id = ${grantId}`);
}

/** Ends a grant with every token under it. */
export async function revokeGrant(db: Db, grantId: string): Promise<void> {
  const tokens = sql`grant_id = ${grantId} and kind <> 'Interaction'`;
  await deleteAndTell(db, sql`(kind = 'Grant' and id_hash = ${sha256(grantId)}) or (${tokens})`);
}

function isModel({ kind, idHash }: { kind: string; idHash: string }): RawBuilder<unknown> {
  return sql`kind = ${kind} and id_hash = ${idHash}`;
}

async function deleteAndTell(db: Db, which: RawBuilder<unknown>): Promise<number> {
  return await db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ kind: string; id_hash: string }>`
      delete from svc.oauth_models where ${which} returning kind, id_hash`.execute(tx);
    for (const row of rows) {
      if (!kindsToTell.includes(row.kind)) continue;
      await tx.executeQuery(CompiledQuery.raw(notifySql, [credentialTag(row.id_hash)]));
    }
    return rows.length;
  });
}
