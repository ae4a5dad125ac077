import * as shapes from '@svc/contract/deployments.shapes.ts';
import * as endpoints from '@svc/contract/deployments.ts';
import { deploymentEndStates } from '@svc/contract/deployments.ts';
import { recheckApp } from '../../apps/record/app-access.ts';
import type { AppCtx } from '../../core/context.ts';
import { type Route, routes } from '../../http/router.ts';
import { type LogPage, type LogQuery, type LogWaits, logTag, readLines } from '../logs/read-lines.ts';
import type { SiteUrls } from '../static-sites/rules.ts';
import type { DeploymentRecord } from './deployment-record.ts';
import { getDeployment } from './deployments.ts';

/** The log of an app never ends, because it can be deployed again; that of one deployment does. */
async function readAppLog(
  ctx: AppCtx,
  { deployment: id, ...query }: LogQuery & { deployment?: string | undefined },
  deps: LogDeps,
): Promise<LogPage> {
  return readLines(ctx.db, query, {
    scope: { tenantId: ctx.tenant.id, appId: ctx.app.id, source: 'app', deploymentId: id ?? null },
    tag: logTag(ctx.app.id),
    isOver: async () => id !== undefined && isAppLogOver(await getDeployment(ctx, { id }, deps), deps.now()),
    confirm: () => recheckApp(ctx, { required: 'owners' }),
    waits: deps.waits,
  });
}

interface LogDeps extends SiteUrls {
  waits: LogWaits;
  now: () => Date;
}

async function readBuildLog(ctx: AppCtx, { id, query }: { id: string; query: LogQuery }, deps: LogDeps) {
  return readLines(ctx.db, query, {
    scope: { tenantId: ctx.tenant.id, appId: ctx.app.id, source: 'build', deploymentId: id },
    tag: logTag(id),
    isOver: async () => isBuildLogOver(await getDeployment(ctx, { id }, deps), deps.now()),
    confirm: () => recheckApp(ctx, { required: 'owners' }),
    waits: deps.waits,
  });
}

/** Lines are stored in batches: the last ones may appear this long after the event. */
const flushMs = 1_000;
/** A superseded deployment may write while it drains. */
const drainMs = 60_000;

type LogState = Pick<DeploymentRecord, 'state' | 'live_at' | 'ended_at'>;

function isBuildLogOver({ state, live_at, ended_at }: LogState, now: Date): boolean {
  const isAtEnd = ended_at !== null || (deploymentEndStates as readonly string[]).includes(state);
  const since = ended_at ?? live_at;
  return isAtEnd && (since === null || now.getTime() - Date.parse(since) > flushMs);
}

function isAppLogOver({ state, ended_at }: LogState, now: Date): boolean {
  if (state === 'live' || ended_at === null) return false;
  return now.getTime() - Date.parse(ended_at) > (state === 'superseded' ? drainMs : flushMs);
}

export const logRoutes = (deps: LogDeps): Route[] =>
  routes(endpoints, shapes, {
    readBuildLog: (ctx, { params, query }) => readBuildLog(ctx, { id: params.deployment, query }, deps),
    readAppLog: (ctx, { query }) => readAppLog(ctx, query, deps),
  });
