import { confirmApp } from '../apps/confirm-app.ts';
import { getDeployment } from '../deployments/get-deployment.ts';
import type { AppCtx } from '../plumbing/context.ts';
import type { LogParts } from './read-build-log.ts';
import { type LogPage, type LogQuery, readLines } from './read-lines.ts';
import { isAppLogOver } from './rules.ts';
import { logTag } from './store.ts';

/** Of all deployments that run or ran, or of one. An app can always be deployed again: its own log does not end. */
export async function readAppLog(
  ctx: AppCtx,
  { deployment: id, ...query }: LogQuery & { deployment?: string | undefined },
  parts: LogParts,
): Promise<LogPage> {
  return readLines(ctx.db, query, {
    scope: { tenantId: ctx.tenant.id, appId: ctx.app.id, source: 'app', deploymentId: id ?? null },
    tag: logTag(ctx.app.id),
    isOver: async () =>
      id !== undefined && isAppLogOver(await getDeployment(ctx, { id }, parts), parts.now()),
    confirm: () => confirmApp(ctx, { wanted: 'owners' }),
    waits: parts.waits,
  });
}
