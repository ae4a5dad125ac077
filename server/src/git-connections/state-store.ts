import type { Db, Tx } from '../plumbing/db.ts';
import type { LinkedPerson } from './git-parts.ts';

/** A connection that was begun in a browser. */
export interface StateRow {
  state_hash: string;
  tenant_id: string;
  app_id: string;
  user_id: string;
  repo: string | null;
  branch: string;
  expires_at: Date;
}
type Tables = { git_connect_states: StateRow };

export async function insertStateRow(tx: Tx, row: StateRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('git_connect_states').values(row).execute();
}

export function findStateRow(
  db: Db,
  who: LinkedPerson,
  { hash, now }: { hash: string; now: Date },
): Promise<StateRow | undefined> {
  return statesOf(db, who)
    .selectAll()
    .where('state_hash', '=', hash)
    .where('expires_at', '>', now)
    .executeTakeFirst();
}

/** It counts once: of several at the same time one gets it. */
export async function takeStateRow(
  tx: Tx,
  { tenantId, userId }: LinkedPerson,
  { hash, now }: { hash: string; now: Date },
): Promise<StateRow | undefined> {
  return tx
    .withTables<Tables>()
    .deleteFrom('git_connect_states')
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .where('state_hash', '=', hash)
    .where('expires_at', '>', now)
    .returningAll()
    .executeTakeFirst();
}

export async function deleteOldStateRows(
  tx: Tx,
  { tenantId, userId }: LinkedPerson,
  now: Date,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('git_connect_states')
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId)
    .where('expires_at', '<=', now)
    .execute();
}

function statesOf(db: Db, { tenantId, userId }: LinkedPerson) {
  return db
    .withTables<Tables>()
    .selectFrom('git_connect_states')
    .where('tenant_id', '=', tenantId)
    .where('user_id', '=', userId);
}
