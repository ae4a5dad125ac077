import { getApp } from '@svc/contract/apps.ts';
import { listDeployments } from '@svc/contract/deployments.ts';
import { appMoved, type MovedApp } from '../app-moved.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { followDeployment } from './follow-deployment.ts';

/** Waits for the deployment by which a suspended app runs again; an app of files alone runs at once. */
export async function resumed(
  ctx: Ctx,
  made: Result,
  params: { tenantID: string; app: string },
): Promise<Result> {
  if (!isApp(made.value)) return made;
  if (made.value.runtime !== 'suspended') {
    appMoved.present(ctx, made.value);
    return made;
  }
  const client = await ctx.client();
  const query = { page: 1, per_page: 1 };
  const [begun] = (await client.call(listDeployments, { params, query }, { signal: ctx.signal })).items;
  if (begun?.kind !== 'resume') return made;
  ctx.say(`Waiting for deployment #${begun.seq}.`);
  // An admin may resume an app, and not read what it says.
  const { exit, failed } = await followDeployment(ctx, { ...params, begun, log: 'unseen' });
  const now = await client.call(getApp, { params }, { signal: ctx.signal }).catch(() => null);
  const app: MovedApp = { ...made.value, ...now };
  appMoved.present(ctx, app);
  return {
    ...{ ...made, value: app, text: () => appMoved.text(app) },
    ...(exit !== undefined && { exit }),
    ...(failed !== undefined && { failed }),
  };
}

function isApp(value: unknown): value is MovedApp {
  return typeof value === 'object' && value !== null && 'runtime' in value;
}
