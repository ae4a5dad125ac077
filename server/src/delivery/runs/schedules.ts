import type { Schedule } from '@svc/contract/runs.shapes.ts';
import { CompiledQuery } from 'kysely';
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
import type { Db } from '../../core/db.ts';
import { notifySql } from '../../core/invalidation.ts';
import { type PageQuery, pageWindow, paginate, toPage } from '../../core/paging.ts';
import { fail } from '../../core/problem.ts';
import { findLiveDeployment } from '../deployments/live-deployment.ts';
import { dueTimes, nextTime } from '../detect/schedule-times.ts';
import { dueOutcome, missedMax, missedText, type RunRecord, runRecord, runsTag } from './rules.ts';
import { type CommandRuntime, queueRun } from './runs.ts';
import {
  type DueSchedule,
  findNextTime,
  listScheduleRows,
  lockDueSchedule,
  lockScheduleRow,
  replaceScheduleRows,
  type ScheduleRow,
  saveNextTime,
} from './schedules-store.ts';
import { insertRunRows, listLastRuns, listOpenRuns, listRunRows, type NewRun } from './store.ts';

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
      // In the order of their times.
      created_at: time,
      ended_at: state === 'queued' ? null : now,
    };
  });
}

const waitMs = { min: 20, max: 15_000, afterError: 1_000 };

/** Each server does this; a lock on the schedule decides between them. */
export function createScheduler({ db, log, now }: { db: Db; log: Logger; now: () => Date }) {
  let timer: Timer | undefined;
  let round: Promise<unknown> | null = null;
  let isStopped = false;
  let isWoken = false;

  async function work(): Promise<number> {
    isWoken = false;
    try {
      await queueDueRuns(db, now());
      const next = await findNextTime(db);
      const ms = next === null ? waitMs.max : next.getTime() - now().getTime();
      return Math.min(waitMs.max, Math.max(waitMs.min, ms));
    } catch (error) {
      log.warn({ err: error }, 'start of scheduled runs failed');
      return waitMs.afterError;
    }
  }

  function wake(): void {
    if (isStopped) return;
    isWoken = true;
    clearTimeout(timer);
    round ??= work().then((ms) => {
      round = null;
      if (isWoken) wake();
      else if (!isStopped) timer = setTimeout(wake, ms);
    });
  }

  return {
    start: wake,
    wake,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await round;
    },
  };
}
