import { Removed, type purgeApp as shape } from '@svc/contract/app-life.shapes.ts';
import { deletedAppRetentionDays } from '@svc/contract/app-life.ts';
import { type AppMove, moveApp as nextState } from '@svc/contract/app-states.ts';
import { namesReservedDays } from '@svc/contract/apps.ts';
import type { z } from 'zod';
import type { AppMutationCtx, MutationCtx } from '../../core/context.ts';
import { mergePlanParts, type PlanPart } from '../../core/events.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import { fail } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import { daysAfter } from '../../core/values.ts';
import { type AppRef, publishAppEvent } from '../app-events.ts';
import { type LockedApp, lockAppFor } from './app-access.ts';
import { checkTier } from './apps.ts';
import { countPeople } from './people-store.ts';
import { type AppRecord, appRecord } from './rules.ts';
import {
  type AppChange,
  type AppRow,
  deleteAppRow,
  findRecordBeforeDeletion,
  listAppsToPurge,
  lockAppRow,
  reserveSubdomain,
  updateAppRow,
} from './store.ts';

type MovedApp = AppRecord & { changed?: false };

interface AppMoveOptions {
  move: Exclude<AppMove, 'purge'>;
  /** Checks what the state table cannot know, and runs side effects. `set`: further columns, where `runtime` overrides the table. */
  onMove?: (app: LockedApp) => Promise<Partial<PlanPart> & { set?: AppChange }>;
  onRepeat?: (app: LockedApp) => Promise<PlanPart | null>;
}

async function moveApp(ctx: AppMutationCtx, { move, onMove, onRepeat }: AppMoveOptions): Promise<MovedApp> {
  const app =
    move === 'delete' || move === 'restore'
      ? await lockAppFor(ctx, { required: 'representative_or_admin', records: 'any' })
      : await lockAppFor(ctx, { required: 'owners_or_admin' });
  const { record, runtime } = app;
  const recordBefore =
    record === 'deleted' ? await findRecordBeforeDeletion(ctx.db, ctx.tenant.id, app.id) : undefined;
  const moved = nextState(move, app, recordBefore);
  const audited = {
    action: `apps.${move}`,
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
  };
  if (moved.kind === 'refused') throw fail(moved.code, { detail: `The app is ${stateText(app)}.` });
  if (moved.kind !== 'moves') {
    const done = (await onRepeat?.(app)) ?? null;
    ctx.audit({ ...audited, before: done?.before ?? {}, after: done?.after ?? {} });
    return done ? appRecord(app) : { ...appRecord(app), changed: false };
  }
  const { set, before, after } = (await onMove?.(app)) ?? {};
  const to = { ...moved.to, runtime: set?.runtime ?? moved.to.runtime };
  const row = await updateAppRow(ctx.db, ctx.tenant.id, app.id, { ...set, ...to, updated_at: ctx.now });
  ctx.audit({ ...audited, before: { record, runtime, ...before }, after: { ...to, ...after } });
  ctx.invalidate(appTag(app.id));
  return appRecord(row);
}

export const toAppRef = (app: LockedApp): AppRef => ({
  tenantId: app.tenant_id,
  appId: app.id,
  slug: app.slug,
});

function stateText({ record, runtime }: Pick<LockedApp, 'record' | 'runtime'>): string {
  if (record !== 'active') return record;
  return { none: 'active and not deployed', running: 'running', suspended: 'suspended' }[runtime];
}

export function archiveApp(ctx: AppMutationCtx): Promise<MovedApp> {
  return moveApp(ctx, {
    move: 'archive',
    onMove: async (app) => ({
      ...mergePlanParts(await publishAppEvent(ctx, 'archived', toAppRef(app))),
      set: { archived_at: ctx.now },
    }),
  });
}

export function reactivateApp(ctx: AppMutationCtx): Promise<MovedApp> {
  return moveApp(ctx, { move: 'reactivate', onMove: async () => ({ set: { archived_at: null } }) });
}

export function suspendApp(ctx: AppMutationCtx): Promise<MovedApp> {
  return moveApp(ctx, {
    move: 'suspend',
    onMove: async (app) => {
      await publishAppEvent(ctx, 'suspended', toAppRef(app));
      return {};
    },
    // An app that is suspended and about to resume stays suspended.
    onRepeat: async (app) => (await publishAppEvent(ctx, 'suspended', toAppRef(app)))[0] ?? null,
  });
}

/** A refusal (the maximum tier was lowered) leaves the app suspended. An app with a process is deployed again first. */
export async function resumeApp(ctx: AppMutationCtx): Promise<MovedApp> {
  let isDeploying = false;
  const moved = await moveApp(ctx, {
    move: 'resume',
    onMove: async (app) => {
      if (!app.is_deployed) throw fail('no_successful_deployment');
      await checkTier(ctx, app.resource_preset);
      const [deployment] = await publishAppEvent(ctx, 'resumed', toAppRef(app));
      if (!deployment) return {};
      isDeploying = !deployment.isNew;
      ctx.warn(`The app runs once deployment #${deployment.seq} is live.`);
      const after = deployment.isNew ? { deployment: `#${deployment.seq}` } : {};
      return { set: { runtime: 'suspended' }, after };
    },
  });
  return isDeploying ? { ...moved, changed: false } : moved;
}

/** Reversible until the purge, except that all users of the app are signed out. */
export function deleteApp(ctx: AppMutationCtx): Promise<MovedApp> {
  return moveApp(ctx, {
    move: 'delete',
    onMove: async (app) => {
      const { before, after } = mergePlanParts(await publishAppEvent(ctx, 'deleted', toAppRef(app)));
      ctx.warn(
        `The app can be restored for ${deletedAppRetentionDays} days with svc apps restore ${app.slug} --execute; then it is purged.`,
      );
      ctx.warn('All users of the app are signed out and must sign in again after a restore.');
      const set: AppChange = {
        deleted_from: app.record === 'archived' ? 'archived' : 'active',
        deleted_at: ctx.now,
        purge_after: daysAfter(ctx.now, deletedAppRetentionDays),
      };
      // Days, not the date: a preview and its execution must have the same fingerprint.
      return { set, before, after: { ...after, purged_after_days: deletedAppRetentionDays } };
    },
  });
}

export function restoreApp(ctx: AppMutationCtx): Promise<MovedApp> {
  return moveApp(ctx, {
    move: 'restore',
    onMove: async (app) => {
      await publishAppEvent(ctx, 'restored', toAppRef(app));
      const { deleted_at, purge_after } = app;
      const set = { deleted_from: null, deleted_at: null, purge_after: null };
      return { set, before: { deleted_at, purge_after } };
    },
  });
}

export async function purgeApp(ctx: AppMutationCtx): Promise<PurgedApp> {
  const app = await lockAppFor(ctx, { required: 'representative_or_admin', records: 'any' });
  const moved = nextState('purge', app);
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

async function purgeDueApp(ctx: MutationCtx, { tenantId, appId }: { tenantId: string; appId: string }) {
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
