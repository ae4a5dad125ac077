import * as shapes from '@svc/contract/deployments.shapes.ts';
import * as endpoints from '@svc/contract/deployments.ts';
import { deploymentEndStates } from '@svc/contract/deployments.ts';
import { recheckApp } from '../../apps/record/app-access.ts';
import { type AppCtx, type AppRef, appRef } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { orNotFound } from '../../core/problem.ts';
import { type Route, routes } from '../../http/router.ts';
import { type LogPage, type LogQuery, type LogWaits, logTag, readLines } from '../logs/log-lines.ts';
import { type DeploymentRow, findDeploymentRow } from './store.ts';

/** The log of an app never ends, because it can be deployed again; that of one deployment does. */
async function readAppLog(
  ctx: AppCtx,
  {
    deployment: id,
    process,
    ...query
  }: LogQuery & { deployment?: string | undefined; process?: string | undefined },
  deps: LogDeps,
): Promise<LogPage> {
  return readLines(ctx.db, query, {
    scope: { tenantId: ctx.tenant.id, appId: ctx.app.id, source: 'app', deploymentId: id ?? null, process },
    tag: logTag(ctx.app.id),
    isOver: async () => id !== undefined && isAppLogOver(await findRow(ctx.db, appRef(ctx), id), deps.now()),
    confirm: () => recheckApp(ctx, { required: 'owners' }),
    waits: deps.waits,
  });
}

async function findRow(db: Db, app: AppRef, id: string): Promise<DeploymentRow> {
  const row = orNotFound(await findDeploymentRow(db, app, id));
  return row;
}

export interface LogDeps {
  waits: LogWaits;
  now: () => Date;
}

/** `confirm` throws if the caller lost the permission during a wait. */
export async function readBuildLog(
  db: Db,
  { id, query, ...app }: AppRef & { id: string; query: LogQuery },
  deps: LogDeps & { confirm: () => Promise<unknown> },
): Promise<LogPage> {
  return readLines(db, query, {
    scope: { tenantId: app.tenantId, appId: app.appId, source: 'build', deploymentId: id },
    tag: logTag(id),
    isOver: async () => isBuildLogOver(await findRow(db, app, id), deps.now()),
    confirm: deps.confirm,
    waits: deps.waits,
  });
}

/** The last lines of an app may be stored this long after its end. */
const flushMs = 1_000;
/** A superseded deployment may write while it drains. */
const drainMs = 60_000;
const buildLogWaitMs = 30_000;

type LogState = Pick<DeploymentRow, 'state' | 'live_at' | 'ended_at' | 'attempts' | 'is_log_complete'>;

function isBuildLogOver(row: LogState, now: Date): boolean {
  const isAtEnd = row.ended_at !== null || (deploymentEndStates as readonly string[]).includes(row.state);
  if (!isAtEnd) return false;
  const since = row.ended_at ?? row.live_at;
  const isLate = since === null || now.getTime() - since.getTime() > buildLogWaitMs;
  return row.is_log_complete || row.attempts === 0 || isLate;
}

function isAppLogOver({ state, ended_at }: LogState, now: Date): boolean {
  if (state === 'live' || ended_at === null) return false;
  return now.getTime() - ended_at.getTime() > (state === 'superseded' ? drainMs : flushMs);
}

export const logRoutes = (deps: LogDeps): Route[] =>
  routes(endpoints, shapes, {
    readBuildLog: (ctx, { params, query }) =>
      readBuildLog(
        ctx.db,
        { ...appRef(ctx), id: params.deployment, query },
        { ...deps, confirm: () => recheckApp(ctx, { required: 'owners' }) },
      ),
    readAppLog: (ctx, { query }) => readAppLog(ctx, query, deps),
  });
