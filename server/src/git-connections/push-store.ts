import type { pushOutcomes } from '@svc/contract/git-connections.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';
import type { AppPlace } from './connection-store.ts';

export interface PushRow {
  delivery_id: string;
  app_id: string;
  tenant_id: string;
  branch: string;
  commit_sha: string;
  outcome: (typeof pushOutcomes)[number];
  deployment_id: string | null;
  received_at: Date;
}
type Tables = { git_pushes: PushRow };

export function findLastPushRow(db: Db, place: AppPlace): Promise<PushRow | undefined> {
  return pushesOf(db, place)
    .selectAll()
    .orderBy('received_at', 'desc')
    .orderBy('delivery_id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

export async function wasReceived(tx: Tx, place: AppPlace, deliveryId: string): Promise<boolean> {
  const found = await pushesOf(tx, place)
    .select('delivery_id')
    .where('delivery_id', '=', deliveryId)
    .executeTakeFirst();
  return found !== undefined;
}

export async function insertPushRow(tx: Tx, row: PushRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('git_pushes').values(row).execute();
}

/** What came before then does not come again. */
export async function deletePushRowsBefore(tx: Tx, { tenantId, appId }: AppPlace, at: Date): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('git_pushes')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .where('received_at', '<', at)
    .execute();
}

/** Whether the newest deployment that has not failed is of this commit, or was made for a push of it. */
export async function isNewestDeployed(
  tx: Tx,
  { tenantId, appId }: AppPlace,
  commit: string,
): Promise<boolean> {
  const { rows } = await sql<{ is_same: boolean }>`
    select coalesce(newest.commit_sha = ${commit}, exists (
      select from svc.git_pushes p
      where p.app_id = ${appId} and p.deployment_id = newest.id and p.commit_sha = ${commit})) as is_same
    from (
      select id, commit_sha from svc.deployments
      where tenant_id = ${tenantId} and app_id = ${appId} and state not in ('failed', 'canceled', 'skipped')
      order by seq desc limit 1) newest`.execute(tx);
  return rows[0]?.is_same ?? false;
}

function pushesOf(db: Db, { tenantId, appId }: AppPlace) {
  return db
    .withTables<Tables>()
    .selectFrom('git_pushes')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId);
}
