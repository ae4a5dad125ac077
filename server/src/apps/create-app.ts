import type { createApp as shape } from '@svc/contract/apps.shapes.ts';
import { reservedSlugs } from '@svc/contract/apps.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import type { z } from 'zod';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { enableStorageOf } from '../storage/enable-storage.ts';
import { checkTier, usualTierOf } from './check-tier.ts';
import { subdomainsFor } from './names.ts';
import { freeSlugs, freeSubdomains, isKeptForOthers } from './names-store.ts';
import { resolveCategory } from './resolve-category.ts';
import { type AppRecord, appRecord, settingsOf } from './rules.ts';
import { type AppRow, insertAppRow, type NewAppRow } from './store.ts';

type Input = z.output<typeof shape.body>;

/** Private until its owner says otherwise. */
export async function createApp(ctx: TenantMutationCtx, input: Input): Promise<AppRecord> {
  const slug = input.slug ?? slugFromName(input.name);
  if (!slug) throw invalid('slug', 'can not be made from this name; give one');
  if (reservedSlugs.includes(slug))
    throw invalid('slug', `is ${slug} by this name, a reserved word; give one`);
  const row = await insertWithHost(ctx, input, {
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
    deploy_method: input.deploy_method ?? 'docker',
    resource_preset: await (input.resource_preset ? checkTier(ctx, input.resource_preset) : usualTierOf(ctx)),
    visibility: 'private',
    cost_center: input.cost_center ?? null,
    icon_url: input.icon_url ?? null,
    icon_dark_url: input.icon_dark_url ?? null,
    record: 'active',
    runtime: 'none',
    is_deployed: false,
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
    after: { slug, name: row.name, owner_id: row.owner_id, ...given(settingsOf(row)) },
  });
  if (input.storage?.enabled) await enableStorageOf(ctx, { id: row.id, slug });
  return appRecord(row);
}

/** The host that was asked for, or the nicest that is free. */
async function insertWithHost(ctx: TenantMutationCtx, input: Input, app: NewAppRow): Promise<AppRow> {
  const { id: tenantId, slug: tenantSlug } = ctx.tenant;
  const candidates =
    input.subdomain === undefined
      ? await freeSubdomains(ctx.db, tenantId, subdomainsFor(app.slug, tenantSlug))
      : [input.subdomain];
  // Another may take one between the question and the answer; then it is the next one's turn.
  for (const subdomain of [...candidates.slice(0, 3), ...(input.subdomain === undefined ? [null] : [])]) {
    const row = await insertAppRow(ctx.db, { ...app, subdomain });
    if (row) {
      if (subdomain !== null && (await isKeptForOthers(ctx.db, tenantId, subdomain)))
        throw taken('subdomain', subdomain);
      return row;
    }
    if ((await freeSlugs(ctx.db, tenantId, [app.slug])).length === 0) throw taken('slug', app.slug);
  }
  throw taken('subdomain', input.subdomain ?? '');
}

/** What was left open is not worth a line of the plan. */
function given(settings: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings).filter(
      ([, value]) => value !== null && value !== '' && !(Array.isArray(value) && value.length === 0),
    ),
  );
}

export function taken(field: 'slug' | 'subdomain', name: string) {
  return fail(`${field}_taken`, {
    detail: `The ${field} ${name} is taken.`,
    errors: [{ field, code: `${field}_taken`, detail: 'is in use' }],
  });
}
