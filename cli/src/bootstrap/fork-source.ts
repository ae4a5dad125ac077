import { getApp } from '@svc/contract/apps.ts';
import { ProblemError } from '@svc/contract/client.ts';
import { uuidPattern } from '@svc/contract/limits.ts';
import type { Ctx } from '../context.ts';
import { AdvisedProblem } from '../errors.ts';
import { saidTenant } from '../tenant.ts';

/**
 * The app to be forked, as the server takes it. A slug is one of the active tenant, `--tenant` names the destination
 * alone; where the two differ the app is named by its id.
 */
export async function forkSource(
  ctx: Ctx,
  { source, destination }: { source: string; destination: string },
): Promise<string> {
  if (uuidPattern.test(source)) return source;
  const home = await homeOf(ctx);
  if (home === undefined || home === destination) return source;
  const params = { tenantID: home, app: source };
  const client = await ctx.client();
  const app = await client.call(getApp, { params }, { signal: ctx.signal }).catch((cause: unknown) => {
    if (!(cause instanceof ProblemError) || cause.problem.code !== 'not_found') throw cause;
    const next =
      'A slug is one of the active tenant (svc whoami), --tenant names the destination; an app of another tenant is named by its id.';
    throw new AdvisedProblem(cause.problem, next);
  });
  return app.id;
}

/** The tenant that counts where `--tenant` is not typed. */
async function homeOf(ctx: Ctx): Promise<string | undefined> {
  const tenant = ctx.io.env.SVC_TENANT || undefined;
  const said = await saidTenant({ ...ctx, globals: { ...ctx.globals, tenant } });
  return said ?? (await ctx.session()).tenant?.id;
}
