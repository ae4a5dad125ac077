import * as shapes from '@svc/contract/deployments.shapes.ts';
import * as endpoints from '@svc/contract/deployments.ts';
import { deploymentEndStates } from '@svc/contract/deployments.ts';
import { recheckApp } from '../../apps/record/app-access.ts';
import type { AppCtx } from '../../core/context.ts';
import { fail } from '../../core/problem.ts';
import { type Route, routes } from '../../http/router.ts';
import { type LogPage, type LogQuery, type LogWaits, logTag, readLines } from '../logs/read-lines.ts';
import { type DeploymentRow, findDeploymentRow } from './store.ts';

/** The log of an app never ends, because it can be deployed again; that of one deployment does. */
async function readAppLog(
  ctx: AppCtx,
  { deployment: id, ...query }: LogQuery & { deployment?: string | undefined },
  deps: LogDeps,
): Promise<LogPage> {
  return readLines(ctx.db, query, {
    scope: { tenantId: ctx.tenant.id, appId: ctx.app.id, source: 'app', deploymentId: id ?? null },
    tag: logTag(ctx.app.id),
    isOver: async () => id !== undefined && isAppLogOver(await findRow(ctx, id), deps.now()),
    confirm: () => recheckApp(ctx, { required: 'owners' }),
    waits: deps.waits,
  });
}

async function findRow(ctx: AppCtx, id: string): Promise<DeploymentRow> {
  const row = await findDeploymentRow(ctx.db, { tenantId: ctx.tenant.id, appId: ctx.app.id }, id);
  if (!row) throw fail('not_found');
  return row;
}

interface LogDeps {
  waits: LogWaits;
  now: () => Date;
}

async function readBuildLog(ctx: AppCtx, { id, query }: { id: string; query: LogQuery }, deps: LogDeps) {
  return readLines(ctx.db, query, {
    scope: { tenantId: ctx.tenant.id, appId: ctx.app.id, source: 'build', deploymentId: id },
    tag: logTag(id),
    isOver: async () => isBuildLogOver(await findRow(ctx, id), deps.now()),
    confirm: () => recheckApp(ctx, { required: 'owners' }),
    waits: deps.waits,
  });
}

/** The last lines of an app may be stored this long after its end. */
const flushMs = 1_000;
/** A superseded deployment may write while it drains. */
const drainMs = 60_000;
/** For a log whose writer was killed after the end of the deployment. */
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
    readBuildLog: (ctx, { params, query }) => readBuildLog(ctx, { id: params.deployment, query }, deps),
    readAppLog: (ctx, { query }) => readAppLog(ctx, query, deps),
  });
