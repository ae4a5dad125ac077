import type { pushOutcomes } from '@svc/contract/git-connections.ts';
import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';

export interface PushRow {
  delivery_id: string;
  app_id: string;
  tenant_id: string;
  branch: string;
  commit_sha: string;
  outcome: (typeof pushOutcomes)[number];
  deployment_id: string | null;
  /** The preview that the push has deployed instead of the app. */
  preview_id: string | null;
  received_at: Date;
}
type Tables = { git_pushes: PushRow };

export function findLastPushRow(db: Db, app: AppRef): Promise<PushRow | undefined> {
  return selectPushes(db, app)
    .selectAll()
    .orderBy('received_at', 'desc')
    .orderBy('delivery_id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

export function findPushRow(db: Db, app: AppRef, deliveryId: string): Promise<PushRow | undefined> {
  return selectPushes(db, app).selectAll().where('delivery_id', '=', deliveryId).executeTakeFirst();
}

export async function insertPushRow(tx: Tx, row: PushRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('git_pushes').values(row).execute();
}

export async function deletePushRowsBefore(tx: Tx, { tenantId, appId }: AppRef, at: Date): Promise<void> {
  await sql`delete from svc.git_pushes
    where tenant_id = ${tenantId} and app_id = ${appId} and received_at < ${at}`.execute(tx);
}

/** Whether the deployment was queued for a push of this commit; it learns its own commit only when it fetches. */
export async function isPushOfCommit(
  tx: Tx,
  app: AppRef,
  { deploymentId, commit }: { deploymentId: string; commit: string },
): Promise<boolean> {
  const found = await selectPushes(tx, app)
    .select('delivery_id')
    .where((row) => row.and({ deployment_id: deploymentId, commit_sha: commit }))
    .executeTakeFirst();
  return found !== undefined;
}

export async function hasPushOfCommit(db: Db, app: AppRef, commit: string): Promise<boolean> {
  const found = selectPushes(db, app).select('delivery_id').where('commit_sha', '=', commit);
  return (await found.limit(1).executeTakeFirst()) !== undefined;
}

function selectPushes(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('git_pushes')
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }));
}
