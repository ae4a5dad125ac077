import { Removed, type purgeApp as shape } from '@svc/contract/app-life.shapes.ts';
import { moveApp } from '@svc/contract/app-states.ts';
import { namesReservedDays } from '@svc/contract/apps.ts';
import type { z } from 'zod';
import type { AppMutationCtx, AppRef, MutationCtx } from '../../core/context.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import { fail } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import { daysAfter } from '../../core/values.ts';
import { publishAppEvent } from '../app-events.ts';
import { lockAppFor } from './app-access.ts';
import { countPeople, deleteAppRow, listAppsToPurge } from './lifecycle-store.ts';
import { reserveSubdomain } from './names-store.ts';
import { type AppRow, lockAppRow } from './store.ts';

export async function purgeApp(ctx: AppMutationCtx): Promise<PurgedApp> {
  const app = await lockAppFor(ctx, { required: 'representative_or_admin', records: 'any' });
  const moved = moveApp('purge', app);
  if (moved.kind === 'refused') throw fail(moved.code, { detail: `The app is ${app.record}.` });
  if (app.subdomain !== null) {
    ctx.warn(`The subdomain ${app.subdomain} is reserved for this tenant for ${namesReservedDays} days.`);
  }
  return purgeLockedApp(ctx, app);
}

type PurgedApp = z.output<typeof shape.answer>;

/** Removes a deleted app and all that belongs to it. Caller must hold the app's row lock. */
export async function purgeLockedApp(
  ctx: MutationCtx,
  app: AppRow,
  { action = 'apps.purge' }: { action?: string } = {},
): Promise<PurgedApp> {
  const { id, slug, tenant_id: tenantId } = app;
  const people = await countPeople(ctx.db, tenantId, id);
  const parts = await publishAppEvent(ctx, 'purged', { tenantId, appId: id, slug });
  // No other app can have the host of a preview.
  if (app.subdomain !== null && app.preview_of === null) {
    const until = daysAfter(ctx.now, namesReservedDays);
    await reserveSubdomain(ctx.db, tenantId, { subdomain: app.subdomain, until });
  }
  await deleteAppRow(ctx.db, tenantId, id);

  const none = Object.fromEntries(Object.keys(Removed.shape).map((field) => [field, 0]));
  const removed: PurgedApp['removed'] = Object.assign(none, people, ...parts.map((part) => part.removed));
  const { name, owner_id, subdomain, deleted_at, purge_after } = app;
  ctx.audit({
    action,
    appId: id,
    target: { kind: 'app', id, name: slug },
    before: { slug, name, owner_id, subdomain, deleted_at, purge_after, ...removed },
    after: null,
  });
  for (const change of parts.flatMap((part) => part.changes ?? [])) ctx.audit(change);
  ctx.invalidate(appTag(id));
  return { id, slug, removed };
}

/** Null when the app was restored or purged since it was listed. */
async function purgeDueApp(ctx: MutationCtx, { tenantId, appId }: AppRef): Promise<PurgedApp | null> {
  const app = await lockAppRow(ctx.db, tenantId, appId, 'any');
  const isDue = app?.record === 'deleted' && app.purge_after !== null && app.purge_after <= ctx.now;
  return isDue ? purgeLockedApp(ctx, app) : null;
}

export async function purgeDueApps(deps: OperatorDeps): Promise<void> {
  for (const app of await listAppsToPurge(deps.db)) {
    const change = { name: 'apps.purge', auditTenantId: app.tenantId };
    // One app's failure does not stop the others; the next run retries.
    await runAsOperator(deps, change, (ctx) => purgeDueApp(ctx, app)).catch((error: unknown) =>
      deps.log.error({ err: error, app: app.slug, tenant: app.tenantId }, 'app purge failed'),
    );
  }
}
