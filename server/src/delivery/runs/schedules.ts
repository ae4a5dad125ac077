import type { Schedule } from '@svc/contract/runs.shapes.ts';
import { CompiledQuery, sql } from 'kysely';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { lockAppFor } from '../../apps/record/app-access.ts';
import { findAppRow } from '../../apps/record/find-app.ts';
import {
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  appRef,
  type MutationCtx,
} from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { notifySql } from '../../core/invalidation.ts';
import { createWakeLoop } from '../../core/jobs.ts';
import { type PageQuery, pageWindow, paginate, toPage } from '../../core/paging.ts';
import { fail } from '../../core/problem.ts';
import { findLiveDeployment } from '../deployments/deployment-record.ts';
import { dueTimes, nextTime } from '../detect/schedule-times.ts';
import {
  dueOutcome,
  insertRunRows,
  listLastRuns,
  listOpenRuns,
  listRunRows,
  missedMax,
  missedText,
  type NewRun,
  type RunRecord,
  runRecord,
  runsTag,
} from './run-records.ts';
import { type CommandRuntime, queueRun } from './runs.ts';

/** Takes the schedules of the live deployment. Caller must hold the app's row lock. */
export async function syncSchedules(ctx: MutationCtx, { tenantId, appId }: AppRef): Promise<undefined> {
  const app = { tenantId, appId };
  const before = new Map((await listScheduleRows(ctx.db, app)).map((row) => [row.name, row]));
  const planned = (await findLiveDeployment(ctx.db, app))?.start_with?.schedules ?? [];
  if (before.size === 0 && planned.length === 0) return;
  const rows = planned.map((schedule): ScheduleRow => {
    const { name, cron, timezone, command, path } = schedule;
    const old = before.get(name);
    // A time that has come while the app is deployed is not lost.
    const isSame = old?.cron === cron && old.timezone === timezone;
    return {
      app_id: appId,
      tenant_id: tenantId,
      name,
      cron,
      timezone,
      command,
      path,
      timeout_seconds: schedule.timeoutSeconds,
      next_at: isSame ? old.next_at : nextTime(schedule, ctx.now),
    };
  });
  await replaceScheduleRows(ctx.db, app, rows);
  ctx.invalidate(runsTag);
}

export async function listSchedules(ctx: AppCtx, query: PageQuery) {
  const ref = appRef(ctx);
  const app = await findAppRow(ctx.db, ref.tenantId, ref.appId);
  const isActive = app?.record === 'active' && app.runtime === 'running';
  const last = new Map((await listLastRuns(ctx.db, ref)).map((run) => [run.schedule, run]));
  const items = (await listScheduleRows(ctx.db, ref)).map((row): z.output<typeof Schedule> => {
    const { name, cron, timezone, command, path, timeout_seconds, next_at } = row;
    const run = last.get(name);
    return {
      name,
      cron,
      timezone,
      command,
      path,
      timeout_seconds,
      next_at: isActive ? (next_at?.toISOString() ?? null) : null,
      last: run ? runRecord(run) : null,
    };
  });
  return paginate(query, items);
}

export async function listScheduleRuns(ctx: AppCtx, { name }: { name: string }, query: PageQuery) {
  const ref = appRef(ctx);
  const { rows, total } = await listRunRows(ctx.db, ref, { schedule: name, window: pageWindow(query) });
  // Runs of a schedule that a later deployment has removed can still be read.
  if (total === 0 && !(await listScheduleRows(ctx.db, ref)).some((row) => row.name === name))
    throw fail('not_found');
  return toPage(query, rows.map(runRecord), total);
}

export async function runSchedule(
  ctx: AppMutationCtx,
  { name }: { name: string },
  deps: { runtime: CommandRuntime },
): Promise<RunRecord> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  const row = await lockScheduleRow(ctx.db, appRef(ctx), name);
  if (!row) throw fail('not_found', { detail: `The live deployment has no schedule ${name}.` });
  const open = (await listOpenRuns(ctx.db, appRef(ctx))).find(({ schedule }) => schedule === name);
  if (open)
    throw fail('limit_reached', { detail: `The schedule ${name} is running; cancel that run first.` });
  const { command, path, timeout_seconds } = row;
  return runRecord(await queueRun(ctx, { ...deps, app }, { schedule: name, command, path, timeout_seconds }));
}

/** One transaction for each schedule that is due, so that every time is taken once, by whichever server. */
export async function queueDueRuns(db: Db, now: Date): Promise<void> {
  for (;;) {
    const isDone = await db.transaction().execute(async (tx) => {
      const due = await lockDueSchedule(tx, now);
      if (!due) return true;
      await saveNextTime(tx, due, nextTime(due, now));
      // The times of an app that does not run pass without a trace.
      if (!due.isActive) return false;
      await insertRunRows(tx, dueRuns(due, now));
      await tx.executeQuery(CompiledQuery.raw(notifySql, [runsTag]));
      return false;
    });
    if (isDone) return;
  }
}

function dueRuns(due: DueSchedule, now: Date): NewRun[] {
  const times = dueTimes(due, { from: due.next_at, until: now, max: missedMax });
  return times.map((time, at): NewRun => {
    const isNewest = at === times.length - 1;
    const { state, failure } = isNewest
      ? dueOutcome(time, { now, hasOpenRun: due.hasOpenRun })
      : { state: 'missed' as const, failure: missedText };
    return {
      id: Bun.randomUUIDv7(),
      tenant_id: due.tenant_id,
      app_id: due.app_id,
      deployment_id: null,
      schedule: due.name,
      due_at: time,
      command: due.command,
      path: due.path,
      timeout_seconds: due.timeout_seconds,
      state,
      failure,
      created_by: null,
      // Runs that are due at once start in the order of their times.
      created_at: time,
      ended_at: state === 'queued' ? null : now,
    };
  });
}

const waitMs = { min: 20, max: 15_000, afterError: 1_000 };

/** Each server does this; a lock on the schedule decides between them. */
export function createScheduler({ db, log, now }: { db: Db; log: Logger; now: () => Date }) {
  return createWakeLoop(async () => {
    try {
      await queueDueRuns(db, now());
      const next = await findNextTime(db);
      const ms = next === null ? waitMs.max : next.getTime() - now().getTime();
      return Math.min(waitMs.max, Math.max(waitMs.min, ms));
    } catch (error) {
      log.warn({ err: error }, 'start of scheduled runs failed');
      return waitMs.afterError;
    }
  });
}

interface ScheduleRow {
  app_id: string;
  tenant_id: string;
  name: string;
  cron: string;
  timezone: string;
  command: string | null;
  path: string | null;
  timeout_seconds: number;
  next_at: Date | null;
}
type Tables = { app_schedules: ScheduleRow };

function selectSchedules(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('app_schedules')
    .selectAll()
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }))
    .orderBy('name');
}

function listScheduleRows(db: Db, app: AppRef): Promise<ScheduleRow[]> {
  return selectSchedules(db, app).execute();
}

function lockScheduleRow(tx: Tx, app: AppRef, name: string): Promise<ScheduleRow | undefined> {
  return selectSchedules(tx, app).where('name', '=', name).forUpdate().executeTakeFirst();
}

async function replaceScheduleRows(tx: Tx, app: AppRef, rows: readonly ScheduleRow[]): Promise<void> {
  await sql`delete from svc.app_schedules
    where tenant_id = ${app.tenantId} and app_id = ${app.appId}
      and name <> all(${rows.map(({ name }) => name)}::text[])`.execute(tx);
  if (rows.length === 0) return;
  await tx
    .withTables<Tables>()
    .insertInto('app_schedules')
    .values([...rows])
    .onConflict((conflict) =>
      conflict.columns(['app_id', 'name']).doUpdateSet(({ ref }) => ({
        cron: ref('excluded.cron'),
        timezone: ref('excluded.timezone'),
        command: ref('excluded.command'),
        path: ref('excluded.path'),
        timeout_seconds: ref('excluded.timeout_seconds'),
        next_at: ref('excluded.next_at'),
      })),
    )
    .execute();
}

interface DueSchedule extends ScheduleRow {
  next_at: Date;
  /** Whether the app runs: neither archived nor suspended. */
  isActive: boolean;
  hasOpenRun: boolean;
}

async function lockDueSchedule(tx: Db, now: Date): Promise<DueSchedule | null> {
  const { rows } = await sql<DueSchedule>`
    select s.*, (a.record = 'active' and a.runtime = 'running') as "isActive",
      exists (select from svc.app_runs r
        where r.app_id = s.app_id and r.schedule = s.name and r.ended_at is null) as "hasOpenRun"
    from svc.app_schedules s join svc.apps a on a.id = s.app_id
    where s.next_at <= ${now}
    order by s.next_at limit 1 for update of s skip locked`.execute(tx);
  return rows[0] ?? null;
}

async function saveNextTime(
  tx: Db,
  { app_id, name }: Pick<ScheduleRow, 'app_id' | 'name'>,
  nextAt: Date | null,
): Promise<void> {
  await sql`update svc.app_schedules set next_at = ${nextAt}
    where app_id = ${app_id} and name = ${name}`.execute(tx);
}

async function findNextTime(db: Db): Promise<Date | null> {
  const { rows } = await sql<{ next: Date | null }>`
    select min(next_at) as next from svc.app_schedules`.execute(db);
  return rows[0]?.next ?? null;
}
