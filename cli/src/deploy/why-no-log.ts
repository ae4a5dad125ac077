import { getApp } from '@svc/contract/apps.ts';
import type { Ctx } from '../context.ts';
import { plain } from '../output.ts';
import type { LogPlace } from './log-lines.ts';

/** Why nothing that runs writes this log, and what to do; null where something may. */
export async function whyNoLog(ctx: Ctx, place: LogPlace): Promise<string | null> {
  if (place.log === 'build') return null;
  const params = { tenantID: place.tenantID, app: place.app };
  const app = await (await ctx.client()).call(getApp, { params }, { signal: ctx.signal });
  const slug = plain(app.slug);
  if (app.deploy_method === 'static')
    return `${slug} is a static site, which runs nothing that writes. Next: svc deployments list --app ${slug} shows its builds, svc deployments logs <id> what one wrote.`;
  if (app.deployment_status === 'draft')
    return `${slug} was never deployed, so nothing of it runs. Next: svc deploy --app ${slug} --from-dir . --execute`;
  return null;
}
