import type { deployMethods } from '@svc/contract/apps.ts';
import type {
  deploymentFailureCodes,
  deploymentKinds,
  deploymentSources,
  deploymentStates,
  deploymentSteps,
  deploymentTriggers,
} from '@svc/contract/deployments.ts';
import type { Manifest } from '@svc/contract/manifest.shapes.ts';
import type { publicationStatuses, reviewKinds } from '@svc/contract/review.ts';
import { sql } from 'kysely';
import type { AppAccess, AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { fetchPage, type PageWindow } from '../../core/paging.ts';
import type { SchemaStep } from '../../data/tables/schema-steps.ts';
import type { Artifact } from '../../drivers/runtime/runtime.ts';
import type { PlannedProcess } from '../detect/plan-source.ts';
import type { PlannedSchedule } from '../detect/schedule-times.ts';

export type DeploymentState = (typeof deploymentStates)[number];
export type DeploymentStep = (typeof deploymentSteps)[number];

interface StartWith {
  health: { path: string | null; timeoutMs: number };
  env: Readonly<Record<string, string>>;
  framework?: string;
  firstByteMs?: number | null;
  processes?: Readonly<Record<string, PlannedProcess>>;
  sleepMs?: number | null;
  release?: string | null;
  schedules?: readonly PlannedSchedule[];
  tables?: Manifest['tables'];
}

export interface TableChanges {
  prune?: boolean;
  /** Destructive steps: all of them, or those with these texts, which a reviewer saw. */
  allowed?: 'all' | readonly string[];
  undo?: readonly SchemaStep[];
}

export interface DeploymentRow {
  id: string;
  tenant_id: string;
  app_id: string;
  seq: number;
  kind: (typeof deploymentKinds)[number];
  trigger: (typeof deploymentTriggers)[number];
  state: DeploymentState;
  step: DeploymentStep | null;
  method: (typeof deployMethods)[number];
  source: (typeof deploymentSources)[number];
  repo: string | null;
  ref: string | null;
  commit_sha: string | null;
  commit_message: string | null;
  upload_id: string | null;
  runtime: string | null;
  artifact: Artifact | null;
  start_with: StartWith | null;
  table_changes: TableChanges | null;
  digest: string | null;
  is_kept: boolean;
  rollback_of: string | null;
  release_id: string | null;
  env_sealed: Buffer | null;
  reviewed_visibility: AppAccess['visibility'] | null;
  failure_code: (typeof deploymentFailureCodes)[number] | null;
  failure_step: DeploymentStep | null;
  failure_detail: string | null;
  cancel_asked: boolean;
  attempts: number;
  lease_holder: string | null;
  lease_until: Date | null;
  created_by: string | null;
  created_at: Date;
  started_at: Date | null;
  built_at: Date | null;
  live_at: Date | null;
  ended_at: Date | null;
  is_log_complete: boolean;
}
type Tables = { deployments: DeploymentRow };

export function toAppRef({ tenant_id: tenantId, app_id: appId }: DeploymentRow): AppRef {
  return { tenantId, appId };
}

export const isOpen = sql<boolean>`state in ('queued', 'building', 'built', 'releasing') and ended_at is null`;

function selectDeployments(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('deployments')
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }));
}

export function findDeploymentRow(db: Db, appRef: AppRef, id: string): Promise<DeploymentRow | undefined> {
  return selectDeployments(db, appRef).selectAll().where('id', '=', id).executeTakeFirst();
}

export function lockDeploymentRow(tx: Tx, appRef: AppRef, id: string): Promise<DeploymentRow | undefined> {
  return selectDeployments(tx, appRef).selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

export function lockOpenRows(tx: Tx, appRef: AppRef): Promise<DeploymentRow[]> {
  return selectDeployments(tx, appRef).selectAll().where(isOpen).orderBy('seq').forUpdate().execute();
}

export function findNewestDeployment(db: Db, app: AppRef): Promise<DeploymentRow | undefined> {
  return selectDeployments(db, app)
    .selectAll()
    .where('state', 'not in', ['failed', 'canceled', 'skipped'])
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** Built, and waiting for a review of the deployment itself; sites have releases instead. */
export function findWaitingDeployment(db: Db, app: AppRef): Promise<DeploymentRow | undefined> {
  return selectDeployments(db, app)
    .selectAll()
    .where(sql<boolean>`state = 'built' and ended_at is not null and method <> 'static'`)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
}

export interface DeploymentReview {
  id: string;
  kind: (typeof reviewKinds)[number];
  status: (typeof publicationStatuses)[number];
  reason: string;
}

/** By deployment: the latest request for it or its release, from the view of all reviews. */
export async function findReviews(
  db: Db,
  rows: readonly Pick<DeploymentRow, 'id'>[],
): Promise<ReadonlyMap<string, DeploymentReview>> {
  if (rows.length === 0) return new Map();
  const ids = rows.map(({ id }) => id);
  const found = await sql<DeploymentReview & { deployment_id: string }>`
    select d.id as deployment_id, r.id, r.kind, r.status, r.reason from svc.deployments d, lateral (
      select id, kind, status, reason from svc.reviews
      where app_id = d.app_id and kind <> 'publication' and requested_at >= d.created_at
        and (deployment_id = d.id or release_id = d.release_id)
      order by requested_at desc, id desc limit 1) r
    where d.id = any(${ids}::uuid[])`.execute(db);
  return new Map(found.rows.map(({ deployment_id, ...review }) => [deployment_id, review]));
}

export async function listDeploymentRows(
  db: Db,
  appRef: AppRef,
  { state, window }: { state?: DeploymentState | undefined; window: PageWindow },
): Promise<{ rows: DeploymentRow[]; total: number }> {
  const matching =
    state === undefined
      ? selectDeployments(db, appRef)
      : selectDeployments(db, appRef).where('state', '=', state);
  return fetchPage(matching.selectAll().orderBy('seq', 'desc'), window);
}

/** In the order of `claimDeployment`: the position of each one that is queued. */
export async function findQueuePositions(
  db: Db,
  rows: readonly Pick<DeploymentRow, 'id' | 'state'>[],
): Promise<ReadonlyMap<string, number>> {
  const ids = rows.filter(({ state }) => state === 'queued').map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const found = await sql<{ id: string; position: number }>`
    select id, position from (
      select d.id, row_number() over (order by (
        select count(*) from svc.deployments o
        where o.tenant_id = d.tenant_id and o.state in ('building', 'built', 'releasing') and o.ended_at is null),
        d.created_at, d.id)::int as position
      from svc.deployments d where d.state = 'queued' and d.ended_at is null) queue
    where id = any(${ids}::uuid[])`.execute(db);
  return new Map(found.rows.map(({ id, position }) => [id, position]));
}

export function insertDeploymentRow(tx: Tx, row: Partial<DeploymentRow>) {
  const { artifact, start_with } = row as DeploymentRow;
  return tx
    .withTables<Tables>()
    .insertInto('deployments')
    .values({ ...(row as DeploymentRow), artifact: asJson(artifact), start_with: asJson(start_with) })
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function updateDeploymentRow(
  tx: Tx,
  { tenant_id, app_id, id }: Pick<DeploymentRow, 'tenant_id' | 'app_id' | 'id'>,
  set: Partial<DeploymentRow>,
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('deployments')
    .set(set)
    .where((row) => row.and({ tenant_id, app_id, id }))
    .execute();
}

export async function findLiveDeploymentRow(db: Db, appRef: AppRef): Promise<DeploymentRow | undefined> {
  return selectDeployments(db, appRef).selectAll().where('state', '=', 'live').executeTakeFirst();
}

export function findDeploymentOfRelease(db: Db, appRef: AppRef, releaseId: string) {
  return selectDeployments(db, appRef)
    .selectAll()
    .where(
      sql<boolean>`(release_id = ${releaseId}
        or id = (select r.deployment_id from svc.static_releases r where r.id = ${releaseId}))`,
    )
    .where('state', 'in', ['building', 'built', 'releasing', 'live', 'superseded'])
    .orderBy('seq', 'desc')
    .executeTakeFirst();
}

export function listRowsWithArtifact(db: Db, appRef: AppRef): Promise<DeploymentRow[]> {
  return selectDeployments(db, appRef).selectAll().where('is_kept', '=', true).execute();
}

/** Also those of open deployments, which may not have one yet. */
export async function listKeptArtifacts(db: Db, appIds: readonly string[]) {
  const { rows } = await sql<{ appId: string; artifact: Artifact | null; isOpen: boolean }>`
    select app_id as "appId", artifact, (${isOpen}) as "isOpen" from svc.deployments
    where app_id = any(${[...appIds]}::uuid[]) and (is_kept or (${isOpen}))`.execute(db);
  return rows;
}

export async function listUsedArtifacts(db: Db, node: string): Promise<Artifact[]> {
  const { rows } = await sql<{ artifact: Artifact }>`
    select artifact from svc.deployments d where artifact is not null and (
      (${isOpen}) or exists (select from svc.app_instances i where i.deployment_id = d.id and i.node = ${node})
      or exists (
        select from svc.app_runs r where r.deployment_id = d.id and r.ended_at is null))`.execute(db);
  return rows.map(({ artifact }) => artifact);
}

export async function markOpened(db: Db, deploymentId: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.deployments set opened_at = now()
    where id = ${deploymentId} and state = 'built' and ended_at is not null`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}

/** The decision about the review waits until the transaction ends. */
export async function lockInReview(tx: Db, deploymentId: string): Promise<boolean> {
  const { rows } = await sql`
    select from svc.deployments
    where id = ${deploymentId} and state = 'built' and ended_at is not null for share`.execute(tx);
  return rows.length > 0;
}

export async function isUploaded(db: Db, { tenantId, appId }: AppRef, { uploadId }: { uploadId: string }) {
  const { rows } = await sql`
    select from svc.deployment_uploads where id = ${uploadId}
      and tenant_id = ${tenantId} and app_id = ${appId} and arrived_at is not null`.execute(db);
  return rows.length > 0;
}

/** node-postgres writes a JavaScript array as a PostgreSQL array. */
function asJson<T>(value: T): T {
  return (value === null ? null : JSON.stringify(value)) as T;
}
