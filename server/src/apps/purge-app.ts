import { moveApp } from '@svc/contract/app-states.ts';
import { namesReservedDays } from '@svc/contract/apps.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { holdApp } from './hold-app.ts';
import { type PurgedApp, purgeHeldApp } from './purge-held-app.ts';

export async function purgeApp(ctx: AppMutationCtx): Promise<PurgedApp> {
  const app = await holdApp(ctx, { wanted: 'representative_or_admin', records: 'any' });
  const moved = moveApp('purge', app);
  if (moved.kind === 'refused') throw fail(moved.code, { detail: `The app is ${app.record}.` });
  if (app.subdomain !== null) {
    ctx.warn(`For ${namesReservedDays} days nobody but this tenant can use the subdomain ${app.subdomain}.`);
  }
  return purgeHeldApp(ctx, app);
}
