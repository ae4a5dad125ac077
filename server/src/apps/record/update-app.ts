import type { updateApp as shape } from '@svc/contract/apps.shapes.ts';
import { namesReservedDays } from '@svc/contract/apps.ts';
import { uuid } from '@svc/contract/shapes.ts';
import { z } from 'zod';
import { type AppMutationCtx, ownsApp } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { mergePlanParts, type PlanPart } from '../../core/events.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { fail } from '../../core/problem.ts';
import { daysAfter, isDeepEqual } from '../../core/values.ts';
import { publishAppEvent } from '../app-events.ts';
import { deleteHiddenCategory, detachBatchMax, isCategoryHidden } from '../categories/categories.ts';
import { type LockedApp, lockAppFor } from './app-access.ts';
import { checkTier, conflictError, resolveCategory, warnAboutScopes } from './apps.ts';
import { toAppRef } from './lifecycle.ts';
import { invalidateWithPreviews, movePreviewHosts } from './preview-apps.ts';
import { type AppRecord, appRecord, appSettings, isWider } from './rules.ts';
import { resetReviewStatus } from './status-store.ts';
import {
  type AppRow,
  claimSubdomain,
  findAppRow,
  isSubdomainTaken,
  removeAppsFromCategory,
  reserveSubdomain,
  updateAppRow,
} from './store.ts';

type Input = z.output<typeof shape.body>;

export async function updateApp(ctx: AppMutationCtx, input: Input): Promise<AppRecord & { changed?: false }> {
  const app = await lockAppFor(ctx, { required: 'owners_or_admin' });
  // An admin may narrow visibility; the other settings belong to the owners.
  if (!ownsApp(app.relation) && Object.keys(input).some((field) => field !== 'visibility'))
    throw fail('forbidden', { detail: 'An admin who does not own the app can only change its visibility.' });
  if (app.record === 'archived')
    throw fail('invalid_state_transition', { detail: 'The app is archived; reactivate it first.' });
  requireUnchanged(app, input);

  const set = await resolveChanges(ctx, app, input);
  const before = { name: app.name, ...appSettings(app) };
  const changes = !isDeepEqual({ ...before, ...set }, before);
  const saved = changes ? await saveChanges(ctx, app, set) : app;
  const { publication, row } = await withdrawPublicationRequest(ctx, app, saved);
  ctx.audit({
    action: 'apps.update',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: { ...before, ...publication.before },
    after: { name: row.name, ...appSettings(row), ...publication.after },
  });
  await warnAboutScopes(ctx, row, app.data_scopes);
  if (row.resource_preset !== app.resource_preset)
    await publishAppEvent(ctx, 'resized', { ...toAppRef(app), preset: row.resource_preset });
  if (!changes) return { ...appRecord(row), changed: false };
  await invalidateWithPreviews(ctx, app.id);
  return appRecord(row);
}

async function withdrawPublicationRequest(
  ctx: AppMutationCtx,
  app: LockedApp,
  saved: AppRow,
): Promise<{ publication: PlanPart; row: AppRow }> {
  if (!isWider(saved.visibility, app.visibility)) return { publication: mergePlanParts([]), row: saved };
  const publication = mergePlanParts(await publishAppEvent(ctx, 'narrowed', toAppRef(app)));
  await resetReviewStatus(ctx, toAppRef(app));
  return { publication, row: (await findAppRow(ctx.db, ctx.tenant.id, app.id)) ?? saved };
}

/** An unchanged value is accepted, so that a whole record can be sent back. */
function requireUnchanged(app: LockedApp, input: Input): void {
  for (const field of ['slug', 'deploy_method'] as const) {
    if (input[field] === undefined || input[field] === app[field]) continue;
    throw fail('immutable_field', {
      detail: `The ${field} of an app cannot change after creation.`,
      errors: [{ field, code: 'immutable_field', detail: 'cannot change' }],
    });
  }
  if (input.visibility !== undefined && isWider(app.visibility, input.visibility)) {
    throw fail('visibility_widen_not_allowed', {
      detail: `The app is ${app.visibility}; publish it to make it ${input.visibility}.`,
      errors: [{ field: 'visibility', code: 'visibility_widen_not_allowed', detail: 'cannot be widened' }],
    });
  }
}

async function resolveChanges(ctx: AppMutationCtx, app: LockedApp, input: Input): Promise<Partial<AppRow>> {
  const { slug: _, deploy_method: __, category_id, resource_preset, ...plain } = input;
  return {
    ...plain,
    ...(category_id !== undefined && { category_id: await resolveCategory(ctx, 'category_id', category_id) }),
    // A tier that was allowed when it was chosen stays valid when the tenant's maximum is lowered.
    ...(resource_preset !== undefined &&
      resource_preset !== app.resource_preset && { resource_preset: await checkTier(ctx, resource_preset) }),
  };
}

async function saveChanges(ctx: AppMutationCtx, app: LockedApp, set: Partial<AppRow>): Promise<AppRow> {
  const { id: tenantId } = ctx.tenant;
  const row = await updateAppRow(ctx.db, tenantId, app.id, { ...set, updated_at: ctx.now }).catch((error) => {
    throw isSubdomainTaken(error) ? conflictError('subdomain', set.subdomain ?? '') : error;
  });
  if (row.subdomain === app.subdomain) return row;
  await movePreviewHosts(ctx, row);
  if (row.subdomain !== null && !(await claimSubdomain(ctx.db, tenantId, row.subdomain)))
    throw conflictError('subdomain', row.subdomain);
  if (app.subdomain !== null) {
    const until = daysAfter(ctx.now, namesReservedDays);
    await reserveSubdomain(ctx.db, tenantId, { subdomain: app.subdomain, until });
    ctx.warn(
      `The subdomain ${app.subdomain} no longer leads to the app. It is reserved for this tenant for ${namesReservedDays} days.`,
    );
  }
  return row;
}

const Payload = z.object({ tenantId: uuid, categoryId: uuid });

/** Removes a deleted category from its apps in batches, then deletes it. Resumes after an interruption. */
export function detachCategory({ db }: { db: Db }): EffectHandler {
  return async (payload) => {
    const { tenantId, categoryId } = Payload.parse(payload);
    if (!(await isCategoryHidden(db, tenantId, categoryId))) return;
    while (await removeAppsFromCategory(db, tenantId, { categoryId, appsMax: detachBatchMax })) {}
    await deleteHiddenCategory(db, tenantId, categoryId);
  };
}
