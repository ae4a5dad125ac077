import { confirmApp } from '../apps/confirm-app.ts';
import { getDeployment } from '../deployments/get-deployment.ts';
import type { AppCtx } from '../plumbing/context.ts';
import type { SitePlaces } from '../static-sites/site-urls.ts';
import type { LogWaits } from './log-waits.ts';
import { type LogPage, type LogQuery, readLines } from './read-lines.ts';
import { isBuildLogOver } from './rules.ts';
import { logTag } from './store.ts';

export interface LogParts extends SitePlaces {
  waits: LogWaits;
  now: () => Date;
}

export async function readBuildLog(
  ctx: AppCtx,
  { id, query }: { id: string; query: LogQuery },
  parts: LogParts,
): Promise<LogPage> {
  return readLines(ctx.db, query, {
    scope: { tenantId: ctx.tenant.id, appId: ctx.app.id, source: 'build', deploymentId: id },
    tag: logTag(id),
    isOver: async () => isBuildLogOver(await getDeployment(ctx, { id }, parts), parts.now()),
    confirm: () => confirmApp(ctx, { wanted: 'owners' }),
    waits: parts.waits,
  });
}
