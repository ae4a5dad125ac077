import type { updateApp as shape } from '@svc/contract/apps.shapes.ts';
import { namesReservedDays } from '@svc/contract/apps.ts';
import type { z } from 'zod';
import { canonicalJson } from '../plumbing/canonical.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { ownsApp } from '../plumbing/is-enough.ts';
import { fail } from '../plumbing/problem.ts';
import { resizeRawDatabase } from '../raw-db/resize-raw-database.ts';
import { nothingTold, type Told } from '../review/end-request.ts';
import { withdrawOpenRequest } from '../review/withdraw-open-request.ts';
import { appTag } from '../tables/catalogue.ts';
import { checkTier } from './check-tier.ts';
import { taken } from './create-app.ts';
import { type HeldApp, holdApp } from './hold-app.ts';
import { markAsShown } from './mark-reviewed.ts';
import { isKeptForOthers, keepSubdomain } from './names-store.ts';
import { resolveCategory } from './resolve-category.ts';
import { type AppRecord, appRecord, settingsOf, widens } from './rules.ts';
import { type AppRow, findAppRow, updateAppRow } from './store.ts';

type Input = z.output<typeof shape.body>;

export async function updateApp(ctx: AppMutationCtx, input: Input): Promise<AppRecord & { changed?: false }> {
  const app = await holdApp(ctx, { wanted: 'owners_or_admin' });
  // An admin makes an app narrower, where it does harm; what it says of itself is its owners' to say.
  if (!ownsApp(app.relation) && Object.keys(input).some((field) => field !== 'visibility'))
    throw fail('forbidden', { detail: 'An admin who does not own the app may change its visibility only.' });
  if (app.record === 'archived')
    throw fail('invalid_state_transition', { detail: 'The app is archived; reactivate it first.' });
  refuseFixed(app, input);

  const set = await changesOf(ctx, app, input);
  const before = { name: app.name, ...settingsOf(app) };
  const changes = canonicalJson({ ...before, ...set }) !== canonicalJson(before);
  const saved = changes ? await save(ctx, app, set) : app;
  const { publication, row } = await takeBack(ctx, app, saved);
  ctx.audit({
    action: 'apps.update',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: { ...before, ...publication.before },
    after: { name: row.name, ...settingsOf(row), ...publication.after },
  });
  if (row.resource_preset !== app.resource_preset)
    await resizeRawDatabase(ctx, { tenantId: ctx.tenant.id, appId: app.id, preset: row.resource_preset });
  if (!changes) return { ...appRecord(row), changed: false };
  ctx.changed(appTag(app.id));
  return appRecord(row);
}

/** A request to show it to more people is of an app that was as wide as it was; who makes it narrower takes that back. */
async function takeBack(
  ctx: AppMutationCtx,
  app: HeldApp,
  saved: AppRow,
): Promise<{ publication: Told; row: AppRow }> {
  if (!widens(saved.visibility, app.visibility)) return { publication: nothingTold, row: saved };
  const place = { tenantId: ctx.tenant.id, appId: app.id };
  const publication = await withdrawOpenRequest(ctx, place, { why: 'narrowed' });
  await markAsShown(ctx, place);
  return { publication, row: (await findAppRow(ctx.db, ctx.tenant.id, app.id)) ?? saved };
}

/** The same value again is no change, so a whole record may be sent back. */
function refuseFixed(app: HeldApp, input: Input): void {
  for (const field of ['slug', 'deploy_method'] as const) {
    if (input[field] === undefined || input[field] === app[field]) continue;
    throw fail('immutable_field', {
      detail: `The ${field} of an app can not change after it is created.`,
      errors: [{ field, code: 'immutable_field', detail: 'can not change' }],
    });
  }
  if (input.visibility !== undefined && widens(app.visibility, input.visibility)) {
    throw fail('visibility_widen_not_allowed', {
      detail: `The app is ${app.visibility}; only publishing it can make it ${input.visibility}.`,
      errors: [{ field: 'visibility', code: 'visibility_widen_not_allowed', detail: 'would be wider' }],
    });
  }
}

async function changesOf(ctx: AppMutationCtx, app: HeldApp, input: Input): Promise<Partial<AppRow>> {
  const { slug: _, deploy_method: __, category_id, resource_preset, ...plain } = input;
  return {
    ...plain,
    ...(category_id !== undefined && { category_id: await resolveCategory(ctx, 'category_id', category_id) }),
    // A tier that was allowed when it was chosen is kept though the tenant's maximum has come down since.
    ...(resource_preset !== undefined &&
      resource_preset !== app.resource_preset && { resource_preset: await checkTier(ctx, resource_preset) }),
  };
}

async function save(ctx: AppMutationCtx, app: HeldApp, set: Partial<AppRow>): Promise<AppRow> {
  const { id: tenantId } = ctx.tenant;
  const row = await updateAppRow(ctx.db, tenantId, { id: app.id, set: { ...set, updated_at: ctx.now } });
  if (row === 'subdomain_taken') throw taken('subdomain', set.subdomain ?? '');
  if (row.subdomain === app.subdomain) return row;
  if (row.subdomain !== null && (await isKeptForOthers(ctx.db, tenantId, row.subdomain)))
    throw taken('subdomain', row.subdomain);
  if (app.subdomain !== null) {
    const until = new Date(ctx.now.getTime() + namesReservedDays * 86_400_000);
    await keepSubdomain(ctx.db, tenantId, { subdomain: app.subdomain, until });
    ctx.warn(
      `${app.subdomain} leads nowhere from now on; for ${namesReservedDays} days only this tenant can use it again.`,
    );
  }
  return row;
}
