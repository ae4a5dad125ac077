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

type Tables = {
  oauth_models: {
    kind: string;
    id_hash: string;
    payload: string;
    user_id: string | null;
    client_id: string | null;
    grant_id: string | null;
    uid: string | null;
    user_code_hash: Generated<string | null>;
    expires_at: Generated<Date | null>;
  };
};

/** What an access to the API rests on: whoever keeps one in a cache has to hear of its end. */
const kindsToTell = ['AccessToken', 'Session', 'Grant'];

/** `renew` changes what is there and leaves alone what is gone. */
export async function storeModel(db: Db, model: ModelToStore, mode: 'insert' | 'renew'): Promise<void> {
  const { kind, idHash, payload, userCode, secondsLeft } = model;
  const json = sql<string>`${JSON.stringify(payload)}::jsonb`;
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
          payload: sql<string>`${json} || jsonb_build_object('exp', ${epochIn(secondsLeft)})`,
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

function epochIn(seconds: number): RawBuilder<number> {
  return sql`floor(extract(epoch from now()) + ${seconds}::float8)::bigint`;
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
