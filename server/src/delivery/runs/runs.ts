import { runRetentionDays, runsOpenMax } from '@svc/contract/runs.ts';
import { type LockedApp, lockAppFor, recheckApp } from '../../apps/record/app-access.ts';
import {
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  appRef,
  type MutationCtx,
} from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type PageQuery, pageWindow, toPage } from '../../core/paging.ts';
import { fail } from '../../core/problem.ts';
import { daysAfter } from '../../core/values.ts';
import type { Runtime } from '../../drivers/runtime/runtime.ts';
import { requireSameRuntime } from '../deployments/artifacts.ts';
import { findLiveDeployment } from '../deployments/deployment-record.ts';
import { requireDeployable } from '../deployments/rules.ts';
import { type LogPage, type LogQuery, type LogWaits, logTag, readLines } from '../logs/log-lines.ts';
import {
  cancelOutcome,
  deleteRunsBefore,
  findRunRow,
  insertRunRows,
  listOpenRuns,
  listRunRows,
  lockRunRow,
  type NewRun,
  type RunRecord,
  type RunRow,
  runName,
  runRecord,
  runsTag,
  updateRunRow,
} from './run-records.ts';

type NewRunInput = Pick<NewRun, 'schedule' | 'command' | 'path' | 'timeout_seconds'>;

export type CommandRuntime = Pick<Runtime, 'kind' | 'refusesCommands'>;

export async function createRun(
  ctx: AppMutationCtx,
  { command, timeoutSeconds }: { command: string; timeoutSeconds: number },
  deps: { runtime: CommandRuntime },
): Promise<RunRecord> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  // Whoever can change a CI job would have all secrets of the app, without a review.
  if (ctx.caller.kind === 'service_account')
    throw fail('forbidden', { detail: 'A service account runs no commands.' });
  const input = { schedule: null, command, path: null, timeout_seconds: timeoutSeconds };
  return runRecord(await queueRun(ctx, { ...deps, app }, input));
}

/** Caller must hold the app's row lock. */
export async function queueRun(
  ctx: AppMutationCtx,
  { app, runtime }: { app: LockedApp; runtime: CommandRuntime },
  input: NewRunInput,
): Promise<RunRow> {
  const ref = appRef(ctx);
  requireDeployable(app);
  const live = await findLiveDeployment(ctx.db, ref);
  if (!live) throw fail('nothing_deployed');
  if (live.method === 'static')
    throw fail('nothing_deployed', { detail: 'A site runs no commands: its files are only served.' });
  requireSameRuntime(live, runtime);
  const refused = input.command === null ? null : (runtime.refusesCommands?.(live.method) ?? null);
  if (refused !== null) throw fail('runtime_unsupported', { detail: refused });
  const open = (await listOpenRuns(ctx.db, ref)).filter(({ due_at }) => due_at === null);
  if (open.length >= runsOpenMax)
    throw fail('limit_reached', { detail: `${runsOpenMax} commands of the app run already.` });
  const row: NewRun = {
    ...input,
    id: ctx.newId(),
    tenant_id: ref.tenantId,
    app_id: ref.appId,
    deployment_id: null,
    due_at: null,
    state: 'queued',
    failure: null,
    created_by: ctx.caller.userId,
    created_at: ctx.now,
    ended_at: null,
  };
  await insertRunRows(ctx.db, [row]);
  ctx.audit({
    action: 'runs.create',
    appId: app.id,
    target: { kind: 'run', id: row.id, name: runName(row) },
    before: null,
    after: {
      app: app.slug,
      deployment: `#${live.seq}`,
      schedule: row.schedule,
      command: row.command,
      path: row.path,
      timeout_seconds: row.timeout_seconds,
    },
  });
  ctx.invalidate(runsTag);
  return {
    ...row,
    exit_code: null,
    cancel_asked: false,
    lease_holder: null,
    lease_until: null,
    lines_missing: 0,
    started_at: null,
  };
}

export async function listRuns(ctx: AppCtx, query: PageQuery) {
  const { rows, total } = await listRunRows(ctx.db, appRef(ctx), {
    schedule: null,
    window: pageWindow(query),
  });
  return toPage(query, rows.map(runRecord), total);
}

async function findRun(ctx: AppCtx, id: string): Promise<RunRow> {
  const row = await findRunRow(ctx.db, appRef(ctx), id);
  if (!row) throw fail('not_found');
  return row;
}

export async function getRun(ctx: AppCtx, { id }: { id: string }): Promise<RunRecord> {
  return runRecord(await findRun(ctx, id));
}

export async function readRunLog(
  ctx: AppCtx,
  { id, query }: { id: string; query: LogQuery },
  { waits }: { waits: LogWaits },
): Promise<LogPage> {
  return readLines(ctx.db, query, {
    scope: { ...appRef(ctx), source: 'run', deploymentId: id },
    tag: logTag(id),
    // The end is stored after the last line.
    isOver: async () => (await findRun(ctx, id)).ended_at !== null,
    confirm: () => recheckApp(ctx, { required: 'owners' }),
    waits,
  });
}

export async function cancelRun(
  ctx: AppMutationCtx,
  { id }: { id: string },
): Promise<RunRecord & { changed?: false }> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  const row = await lockRunRow(ctx.db, appRef(ctx), id);
  if (!row) throw fail('not_found');
  const outcome = cancelOutcome(row);
  if (outcome === 'refused') throw fail('not_cancelable', { detail: `The run has ${row.state}.` });
  const audit = { action: 'runs.cancel', appId: app.id, target: { kind: 'run', id, name: runName(row) } };
  if (outcome === 'same') {
    ctx.audit({ ...audit, before: {}, after: {} });
    return { ...runRecord(row), changed: false };
  }
  const set = await cancelRow(ctx, row);
  ctx.audit({ ...audit, before: { state: row.state }, after: { state: 'canceled' } });
  return runRecord({ ...row, ...set });
}

async function cancelRow(ctx: MutationCtx, row: RunRow): Promise<Partial<RunRow>> {
  const set =
    row.state === 'queued' ? { state: 'canceled' as const, ended_at: ctx.now } : { cancel_asked: true };
  await updateRunRow(ctx.db, row, set);
  ctx.invalidate(runsTag);
  ctx.invalidate(logTag(row.id));
  return set;
}

/** For an app that is suspended, archived or deleted. Caller must hold the app's row lock. */
export async function cancelOpenRuns(ctx: MutationCtx, app: AppRef): Promise<void> {
  for (const row of await listOpenRuns(ctx.db, app)) {
    await cancelRow(ctx, row);
    if (row.due_at === null) ctx.warn(`The run “${runName(row)}” is canceled.`);
  }
}

export async function deleteExpiredRuns(db: Db, { now }: { now: Date }): Promise<void> {
  await deleteRunsBefore(db, daysAfter(now, -runRetentionDays));
}
