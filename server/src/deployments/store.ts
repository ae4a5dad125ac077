import type { deployMethods } from '@svc/contract/apps.ts';
import type {
  deploymentFailureCodes,
  deploymentKinds,
  deploymentSources,
  deploymentStates,
  deploymentSteps,
  deploymentTriggers,
} from '@svc/contract/deployments.ts';
import { sql } from 'kysely';
import type { Artifact } from '../drivers/runtime/runtime.ts';
import type { Db, Tx } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';

export type DeploymentState = (typeof deploymentStates)[number];
export type DeploymentStep = (typeof deploymentSteps)[number];

/** How a built app is started, beside its environment. */
export interface StartWith {
  health: { path: string | null; timeoutMs: number };
  env: Readonly<Record<string, string>>;
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
  digest: string | null;
  is_kept: boolean;
  rollback_of: string | null;
  release_id: string | null;
  env_sealed: Buffer | null;
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
}
type Tables = { deployments: DeploymentRow };

/** Of which app. */
export interface AppPlace {
  tenantId: string;
  appId: string;
}

/** Waiting, or worked on. One that is `built` and ended waits for nothing but a review. */
export const isOpen = sql<boolean>`state in ('queued', 'building', 'built', 'releasing') and ended_at is null`;

function of(db: Db, { tenantId, appId }: AppPlace) {
  return db
    .withTables<Tables>()
    .selectFrom('deployments')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId);
}

export function findDeploymentRow(db: Db, place: AppPlace, id: string): Promise<DeploymentRow | undefined> {
  return of(db, place).selectAll().where('id', '=', id).executeTakeFirst();
}

export function lockDeploymentRow(tx: Tx, place: AppPlace, id: string): Promise<DeploymentRow | undefined> {
  return of(tx, place).selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

/** Those that wait or are worked on, held: none of them moves on meanwhile. */
export function lockOpenRows(tx: Tx, place: AppPlace): Promise<DeploymentRow[]> {
  return of(tx, place).selectAll().where(isOpen).orderBy('seq').forUpdate().execute();
}

/** The newest first. */
export async function listDeploymentRows(
  db: Db,
  place: AppPlace,
  { state, window }: { state?: DeploymentState | undefined; window: Window },
): Promise<{ rows: DeploymentRow[]; total: number }> {
  const wanted = state === undefined ? of(db, place) : of(db, place).where('state', '=', state);
  const rows = await wanted
    .selectAll()
    .orderBy('seq', 'desc')
    .limit(window.limit)
    .offset(window.offset)
    .execute();
  const { total } = await wanted
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return { rows, total };
}

export async function insertDeploymentRow(tx: Tx, row: DeploymentRow): Promise<void> {
  await tx
    .withTables<Tables>()
    .insertInto('deployments')
    .values({ ...row, artifact: asJson(row.artifact), start_with: asJson(row.start_with) })
    .execute();
}

export async function updateDeploymentRow(
  tx: Tx,
  { tenantId, appId }: AppPlace,
  { id, set }: { id: string; set: Partial<DeploymentRow> },
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('deployments')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .where('id', '=', id)
    .execute();
}

/** Under the app's lock: the next number of its deployments. */
export async function takeSeq(tx: Tx, { tenantId, appId }: AppPlace): Promise<number> {
  const { rows } = await sql<{ seq: number }>`
    update svc.apps set deployments_made = deployments_made + 1
    where tenant_id = ${tenantId} and id = ${appId} returning deployments_made as seq`.execute(tx);
  const row = rows[0];
  if (!row) throw new Error('The app of a deployment is not there.');
  return row.seq;
}

export async function findLiveDeploymentRow(db: Db, place: AppPlace): Promise<DeploymentRow | undefined> {
  return of(db, place).selectAll().where('state', '=', 'live').executeTakeFirst();
}

/** The newest of those that were made for it or went back to it. */
export function findDeploymentOfRelease(
  db: Db,
  place: AppPlace,
  releaseId: string,
): Promise<DeploymentRow | undefined> {
  return of(db, place)
    .selectAll()
    .where(
      sql<boolean>`(release_id = ${releaseId}
        or id = (select r.deployment_id from svc.static_releases r where r.id = ${releaseId}))`,
    )
    .where('state', 'in', ['building', 'built', 'releasing', 'live', 'superseded'])
    .orderBy('seq', 'desc')
    .executeTakeFirst();
}

export function listKeptRows(db: Db, place: AppPlace): Promise<DeploymentRow[]> {
  return of(db, place).selectAll().where('is_kept', '=', true).execute();
}

/** pg would write an object as text by itself, and an array as one of PostgreSQL's. */
function asJson<T>(value: T): T {
  return (value === null ? null : JSON.stringify(value)) as T;
}
