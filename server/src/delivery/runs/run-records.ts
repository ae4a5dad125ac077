import { deploymentLeaseSeconds } from '@svc/contract/deployments.ts';
import type { Run } from '@svc/contract/runs.shapes.ts';
import { type runStates, runsAtOnceMax } from '@svc/contract/runs.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { fetchPage, type PageWindow } from '../../core/paging.ts';

const leaseMs = deploymentLeaseSeconds * 1_000;
export const renewEveryMs = leaseMs / 3;

/** After a downtime, the newest time that has passed still runs if it is not older than this. */
const graceMs = 5 * 60_000;
/** Times that a downtime has missed, of each schedule: the newest are recorded. */
export const missedMax = 100;

export const runsTag = 'work:runs';

export type RunRecord = z.output<typeof Run>;

export function runRecord(row: RunRow): RunRecord {
  return {
    id: row.id,
    app_id: row.app_id,
    deployment_id: row.deployment_id,
    schedule: row.schedule,
    due_at: row.due_at?.toISOString() ?? null,
    command: row.command,
    path: row.path,
    timeout_seconds: row.timeout_seconds,
    state: row.state,
    exit_code: row.exit_code,
    failure: row.failure,
    lines_missing: row.lines_missing,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    ended_at: row.ended_at?.toISOString() ?? null,
  };
}

export function cancelOutcome({
  state,
  cancel_asked,
}: Pick<RunRow, 'state' | 'cancel_asked'>): 'ends' | 'requested' | 'same' | 'refused' {
  if (state === 'canceled') return 'same';
  if (state === 'queued') return 'ends';
  if (state === 'running') return cancel_asked ? 'same' : 'requested';
  return 'refused';
}

/** Decides about the newest time of a schedule that has passed. */
export function dueOutcome(
  due: Date,
  { now, hasOpenRun }: { now: Date; hasOpenRun: boolean },
): { state: 'queued' | 'missed' | 'skipped'; failure: string | null } {
  if (isTooLate(due, now)) return { state: 'missed', failure: missedText };
  if (hasOpenRun) return { state: 'skipped', failure: 'The run before it had not ended.' };
  return { state: 'queued', failure: null };
}

export const isTooLate = (due: Date, now: Date) => now.getTime() - due.getTime() > graceMs;

export const missedText = 'No server could start it in time.';
export const lostText = 'The server that ran it has stopped; it is not run again.';

export function runName({ schedule, command, path }: Pick<RunRow, 'schedule' | 'command' | 'path'>): string {
  return (schedule ?? command ?? path ?? '').slice(0, 100).toWellFormed();
}

export interface RunRow {
  id: string;
  tenant_id: string;
  app_id: string;
  deployment_id: string | null;
  schedule: string | null;
  due_at: Date | null;
  command: string | null;
  path: string | null;
  timeout_seconds: number;
  state: (typeof runStates)[number];
  exit_code: number | null;
  failure: string | null;
  /** Lines of its output that are not in its log. */
  lines_missing: number;
  cancel_asked: boolean;
  lease_holder: string | null;
  lease_until: Date | null;
  created_by: string | null;
  created_at: Date;
  started_at: Date | null;
  ended_at: Date | null;
}
type Tables = { app_runs: RunRow };

export type NewRun = Omit<
  RunRow,
  'lease_holder' | 'lease_until' | 'cancel_asked' | 'exit_code' | 'lines_missing' | 'started_at'
>;

function selectRuns(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('app_runs')
    .selectAll()
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }));
}

export function findRunRow(db: Db, appRef: AppRef, id: string): Promise<RunRow | undefined> {
  return selectRuns(db, appRef).where('id', '=', id).executeTakeFirst();
}

export function lockRunRow(tx: Tx, appRef: AppRef, id: string): Promise<RunRow | undefined> {
  return selectRuns(tx, appRef).where('id', '=', id).forUpdate().executeTakeFirst();
}

export function listRunRows(
  db: Db,
  appRef: AppRef,
  { schedule, window }: { schedule: string | null; window: PageWindow },
) {
  const runs = selectRuns(db, appRef).where('schedule', schedule === null ? 'is' : '=', schedule);
  return fetchPage(runs.orderBy('created_at', 'desc').orderBy('id', 'desc'), window);
}

export async function listLastRuns(db: Db, { tenantId, appId }: AppRef): Promise<RunRow[]> {
  const { rows } = await sql<RunRow>`
    select distinct on (schedule) * from svc.app_runs
    where tenant_id = ${tenantId} and app_id = ${appId} and schedule is not null and ended_at is not null
    order by schedule, created_at desc, id desc`.execute(db);
  return rows;
}

export function listOpenRuns(tx: Tx, appRef: AppRef): Promise<RunRow[]> {
  return selectRuns(tx, appRef).where('ended_at', 'is', null).orderBy('created_at').forUpdate().execute();
}

/** Without those whose schedule and time exist already. */
export async function insertRunRows(tx: Db, rows: readonly NewRun[]): Promise<void> {
  if (rows.length === 0) return;
  await tx
    .withTables<{ app_runs: NewRun }>()
    .insertInto('app_runs')
    .values([...rows])
    .onConflict((conflict) => conflict.columns(['app_id', 'schedule', 'due_at']).doNothing())
    .execute();
}

export async function updateRunRow(tx: Tx, { id }: Pick<RunRow, 'id'>, set: Partial<RunRow>): Promise<void> {
  await tx.withTables<Tables>().updateTable('app_runs').set(set).where('id', '=', id).execute();
}

/** `lease` is new with each claim, so that writes of an earlier holder have no effect. */
export interface RunClaim extends RunRow {
  lease: string;
  /** Its server has stopped renewing the lease: it is not run a second time. */
  isLost: boolean;
}

const leaseEnd = sql<Date>`now() + make_interval(secs => ${leaseMs / 1_000})`;

export async function claimRun(
  db: Db,
  { excludedTenants }: { excludedTenants: readonly string[] },
): Promise<RunClaim | null> {
  const lease = Bun.randomUUIDv7();
  const { rows } = await sql<RunRow & { isLost: boolean }>`
    with next as (
      select r.id, r.state from svc.app_runs r
      where r.ended_at is null and (r.state = 'running' and r.lease_until < now() or r.state = 'queued'
        and r.tenant_id <> all(${excludedTenants}::uuid[])
        and ${runsAtOnceMax} > (select count(*) from svc.app_runs o
          where o.app_id = r.app_id and o.state = 'running' and o.ended_at is null))
      order by r.created_at limit 1 for update skip locked)
    update svc.app_runs r set state = 'running', lease_holder = ${lease}, lease_until = ${leaseEnd},
      started_at = coalesce(r.started_at, now())
    from next where r.id = next.id
    returning r.*, next.state = 'running' as "isLost"`.execute(db);
  const row = rows[0];
  return row ? { ...row, lease } : null;
}

export async function hasOpenRun(db: Db): Promise<boolean> {
  const { rows } = await sql`select from svc.app_runs where ended_at is null limit 1`.execute(db);
  return rows.length > 0;
}

export async function renewRunLease(
  db: Db,
  { id, lease }: RunClaim,
): Promise<'held' | 'cancel_asked' | 'lost'> {
  const { rows } = await sql<{ cancel: boolean }>`
    update svc.app_runs set lease_until = ${leaseEnd}
    where id = ${id} and lease_holder = ${lease} and ended_at is null
    returning cancel_asked as cancel`.execute(db);
  const row = rows[0];
  if (!row) return 'lost';
  return row.cancel ? 'cancel_asked' : 'held';
}

export async function saveRunDeployment(
  db: Db,
  { id, lease }: RunClaim,
  deploymentId: string,
): Promise<void> {
  await sql`update svc.app_runs set deployment_id = ${deploymentId}
    where id = ${id} and lease_holder = ${lease}`.execute(db);
}

/** Whether the newest ended run of the schedule before this one has failed. */
export async function hasFailedBefore(
  db: Db,
  { app_id, schedule, id, created_at }: RunRow,
): Promise<boolean> {
  const { rows } = await sql<{ state: RunRow['state'] }>`
    select state from svc.app_runs
    where app_id = ${app_id} and schedule = ${schedule} and id <> ${id} and created_at <= ${created_at}
      and state in ('succeeded', 'failed')
    order by created_at desc, id desc limit 1`.execute(db);
  return rows[0]?.state === 'failed';
}

export async function deleteRunsBefore(db: Db, time: Date): Promise<void> {
  await sql`delete from svc.app_runs where ended_at < ${time}`.execute(db);
}
