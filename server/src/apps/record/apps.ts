import type { getApp as getAppShape, createApp as shape } from '@svc/contract/apps.shapes.ts';
import { dataScopesMax, reservedSlugs } from '@svc/contract/apps.ts';
import { parseDataScope } from '@svc/contract/data-scopes.ts';
import { type ResourceTier, resourceTiers } from '@svc/contract/limits.ts';
import { usualTier } from '@svc/contract/resource-presets.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import type { z } from 'zod';
import { findConnectorId } from '../../access/connectors/connectors.ts';
import type { AppCtx, AppRef, MutationCtx, TenantMutationCtx } from '../../core/context.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { findUsers } from '../../people/users/users.ts';
import { publishAppEvent } from '../app-events.ts';
import { lockCategoryForShare } from '../categories/categories.ts';
import { candidateSubdomains } from './names.ts';
import { type AppRecord, type AppUrls, appRecord, appSettings, appUrl, isWithinTier } from './rules.ts';
import {
  type AppRow,
  claimSubdomain,
  countAppsWithTier,
  filterFreeSlugs,
  filterFreeSubdomains,
  findAppRow,
  insertAppRow,
  lockAppRow,
  type NewAppRow,
  updateAppRow,
} from './store.ts';

type Input = z.output<typeof shape.body>;

export async function createApp(ctx: TenantMutationCtx, input: Input): Promise<AppRecord> {
  const slug = input.slug ?? slugFromName(input.name);
  if (!slug) throw validationError('slug', 'cannot be derived from this name; specify one');
  if (reservedSlugs.includes(slug))
    throw validationError('slug', `would be ${slug}, which is reserved; specify another`);
  const row = await insertWithSubdomain(ctx, input, {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    slug,
    name: input.name,
    owner_id: ctx.caller.userId,
    owner_since: ctx.now,
    summary: input.summary ?? '',
    description: input.description ?? '',
    category_id: await resolveCategory(ctx, 'category', input.category ?? null),
    subdomain: null,
    auth_mode: input.auth_mode ?? 'cookie',
    data_scopes: input.data_scopes ?? [],
    approved_data_scopes: [],
    deploy_method: input.deploy_method ?? 'docker',
    resource_preset: await (input.resource_preset
      ? checkTier(ctx, input.resource_preset)
      : findMaxTier(ctx).then(usualTier)),
    visibility: 'private',
    cost_center: input.cost_center ?? null,
    icon_url: input.icon_url ?? null,
    icon_dark_url: input.icon_dark_url ?? null,
    record: 'active',
    runtime: 'none',
    is_deployed: false,
    preview_of: null,
    review_status: 'none',
    archived_at: null,
    deleted_at: null,
    purge_after: null,
    created_at: ctx.now,
    updated_at: ctx.now,
  });
  ctx.audit({
    action: 'apps.create',
    appId: row.id,
    target: { kind: 'app', id: row.id, name: slug },
    before: null,
    after: { slug, name: row.name, owner_id: row.owner_id, ...withoutEmpty(appSettings(row)) },
  });
  await warnAboutScopes(ctx, row);
  await publishAppEvent(ctx, 'created', {
    appId: row.id,
    slug,
    hasStorage: input.storage?.enabled ?? false,
  });
  return appRecord(row);
}

async function insertWithSubdomain(ctx: TenantMutationCtx, input: Input, app: NewAppRow): Promise<AppRow> {
  const { id: tenantId, slug: tenantSlug } = ctx.tenant;
  const candidates =
    input.subdomain === undefined
      ? await filterFreeSubdomains(ctx.db, tenantId, candidateSubdomains(app.slug, tenantSlug))
      : [input.subdomain];
  // A concurrent insert may take a candidate; then the next one is tried.
  for (const subdomain of [...candidates.slice(0, 3), ...(input.subdomain === undefined ? [null] : [])]) {
    const row = await insertAppRow(ctx.db, { ...app, subdomain });
    if (row) {
      if (subdomain !== null && !(await claimSubdomain(ctx.db, tenantId, subdomain)))
        throw conflictError('subdomain', subdomain);
      return row;
    }
    if ((await filterFreeSlugs(ctx.db, tenantId, [app.slug])).length === 0)
      throw conflictError('slug', app.slug);
  }
  throw conflictError('subdomain', input.subdomain ?? '');
}

function withoutEmpty(settings: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings).filter(
      ([, value]) => value !== null && value !== '' && !(Array.isArray(value) && value.length === 0),
    ),
  );
}

export function conflictError(field: 'slug' | 'subdomain', name: string) {
  return fail(`${field}_taken`, {
    detail: `The ${field} ${name} is already in use.`,
    errors: [{ field, code: `${field}_taken`, detail: 'is in use' }],
  });
}

export async function getApp(ctx: AppCtx) {
  const row = orNotFound(await findAppRow(ctx.db, ctx.tenant.id, ctx.app.id, 'any'));
  return appRecord(row);
}

export async function describeApp(ctx: AppCtx, urls: AppUrls): Promise<z.output<typeof getAppShape.answer>> {
  const app = await getApp(ctx);
  const url = urls === null || app.subdomain === null ? null : appUrl(urls, app.subdomain);
  const owner = (await findUsers(ctx, { ids: [app.owner_id] })).get(app.owner_id);
  const contact = { owner_name: owner?.name ?? '', owner_email: owner?.email ?? '' };
  return { ...app, url, relation: ctx.app.relation, ...contact };
}

type Ctx = Pick<TenantMutationCtx, 'db' | 'tenant'>;

export async function checkTier(ctx: Ctx, tier: ResourceTier): Promise<ResourceTier> {
  const max = await findMaxTier(ctx);
  if (isWithinTier(tier, max)) return tier;
  throw fail('resource_tier_exceeded', {
    detail: `The tier ${tier} is above ${max}, the maximum tier of this tenant.`,
    errors: [{ field: 'resource_preset', code: 'resource_tier_exceeded', detail: `is above ${max}` }],
  });
}

async function findMaxTier(ctx: Ctx): Promise<ResourceTier> {
  return (await findTenant(ctx, { ref: ctx.tenant.id }))?.max_resource_tier ?? 'L';
}

export async function warnAboutAppsAboveTier(
  ctx: MutationCtx,
  { tenantId, tier }: { tenantId: string; tier: ResourceTier },
): Promise<void> {
  const above = resourceTiers.filter((other) => !isWithinTier(other, tier));
  const larger = await countAppsWithTier(ctx.db, tenantId, above);
  if (larger === 0) return;
  ctx.warn(
    larger === 1
      ? '1 app has a higher tier and keeps it until its tier is changed.'
      : `${larger} apps have a higher tier and keep it until their tiers are changed.`,
  );
}

export async function resolveCategory(ctx: Ctx, field: 'category' | 'category_id', ref: string | null) {
  if (ref === null) return null;
  const category = await lockCategoryForShare(ctx.db, ctx.tenant.id, ref);
  if (!category) throw validationError(field, 'is not a category of this tenant', 'unknown_category');
  return category.id;
}

/** Warnings, not errors: people may have overlooked these in newly requested scopes. */
export async function warnAboutScopes(
  ctx: MutationCtx,
  app: Pick<AppRow, 'tenant_id' | 'visibility' | 'approved_data_scopes' | 'data_scopes'>,
  before: readonly string[] = [],
): Promise<void> {
  const added = app.data_scopes.filter((scope) => !before.includes(scope));
  const connectors = new Set(added.flatMap((scope) => parseDataScope(scope)?.connector ?? []));
  for (const connector of connectors)
    if ((await findConnectorId(ctx.db, app.tenant_id, connector)) === null)
      ctx.warn(`There is no connector ${connector} yet.`);
  const isWaiting = added.some((scope) => !app.approved_data_scopes.includes(scope));
  if (isWaiting && app.visibility !== 'private')
    ctx.warn(
      'Until a review approves the new data scopes, only owners can use them: svc publish requests it.',
    );
}

/**
 * For a deployment whose svc.yaml names data scopes. Nothing is removed: the version that is live may still use it. Caller
 * must write the audit entry. Null if nothing is new.
 */
export async function addDataScopes(
  ctx: MutationCtx,
  { tenantId, appId }: AppRef,
  scopes: readonly string[],
): Promise<{ before: string[]; after: string[] } | null> {
  const app = await lockAppRow(ctx.db, tenantId, appId);
  if (!app) return null;
  const before = app.data_scopes;
  const after = [...new Set([...before, ...scopes])];
  if (after.length === before.length) return null;
  if (after.length > dataScopesMax)
    throw validationError('data_scopes', `would be ${after.length}; at most ${dataScopesMax} are allowed`);
  await updateAppRow(ctx.db, tenantId, appId, { data_scopes: after, updated_at: ctx.now });
  ctx.invalidate(appTag(appId));
  return { before, after };
}
