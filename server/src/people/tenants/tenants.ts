import type { listAuditEntries as shape } from '@svc/contract/tenants.shapes.ts';
import type { z } from 'zod';
import { type AuditEntriesTable, listAuditEntries as listAuditRows } from '../../core/audit.ts';
import type { TaggedCache } from '../../core/cache.ts';
import type { AppRef, Caller, Ctx, MutationCtx, TenantAccess, TenantCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { userTag } from '../../core/tags.ts';
import { publishPersonEvent } from '../person-events.ts';
import {
  formatAuditCursor,
  isTenantRef,
  parseAuditCursor,
  parseTenantName,
  parseTenantSlug,
  type TenantRecord,
  tenantRecord,
  tenantSettings,
} from './rules.ts';
import {
  findMemberTenantRow,
  findTenantRow,
  insertTenantRow,
  listMemberTenantRows,
  listTenantRows,
  lockTenantRow,
  type TenantRow,
  updateTenantRow,
} from './store.ts';

export async function listTenants(ctx: Pick<Ctx, 'db'>): Promise<TenantRecord[]> {
  return (await listTenantRows(ctx.db)).map(tenantRecord);
}

export async function listOwnTenants(ctx: Pick<Ctx, 'db' | 'caller'>) {
  const rows = await listMemberTenantRows(ctx.db, ctx.caller.userId);
  return rows.map((row) => ({ ...tenantRecord(row), role: row.role }));
}

export function listTenantsOf(ctx: Pick<Ctx, 'db'>, { userId }: { userId: string }): Promise<TenantRow[]> {
  return listMemberTenantRows(ctx.db, userId);
}

export async function findTenant(
  ctx: Pick<Ctx, 'db'>,
  { ref }: { ref: string },
): Promise<TenantRecord | null> {
  const row = isTenantRef(ref) ? await findTenantRow(ctx.db, ref) : undefined;
  return row ? tenantRecord(row) : null;
}

export async function getTenant(ctx: TenantCtx) {
  const row = orNotFound(await findTenantRow(ctx.db, ctx.tenant.id));
  return { ...tenantRecord(row), role: ctx.tenant.role };
}

export async function createTenant(
  ctx: MutationCtx,
  input: { slug: string; name?: string; maxResourceTier?: TenantRow['max_resource_tier'] },
): Promise<TenantRecord> {
  const slug = parseTenantSlug(input.slug);
  const row: TenantRow = {
    id: ctx.newId(),
    slug,
    name: parseTenantName(input.name ?? slug),
    max_resource_tier: input.maxResourceTier ?? 'L',
    review_deployments: 'internet',
    invite_only_people_max: 0,
    access_requests: false,
    require_second_factor: false,
    created_at: ctx.now,
  };
  if (!(await insertTenantRow(ctx.db, row))) {
    throw fail('unique_violation', {
      detail: `A tenant ${slug} already exists.`,
      errors: [{ field: 'slug', code: 'unique_violation', detail: 'is in use' }],
    });
  }
  ctx.audit({
    action: 'tenants.create',
    target: { kind: 'tenant', id: row.id, name: slug },
    before: null,
    after: { slug, name: row.name, max_resource_tier: row.max_resource_tier },
  });
  return tenantRecord(row);
}

/** A lower maximum tier applies when an app's tier is next chosen; running apps keep theirs. */
export async function updateTenant(
  ctx: MutationCtx,
  input: {
    tenantId: string;
    name?: string;
    maxResourceTier?: TenantRow['max_resource_tier'];
    reviewDeployments?: TenantRow['review_deployments'];
    inviteOnlyPeopleMax?: number;
    accessRequests?: boolean;
    requireSecondFactor?: boolean;
  },
): Promise<TenantRecord & { changed?: false }> {
  const row = orNotFound(await lockTenantRow(ctx.db, input.tenantId));
  const set = {
    name: parseTenantName(input.name ?? row.name),
    max_resource_tier: input.maxResourceTier ?? row.max_resource_tier,
    review_deployments: input.reviewDeployments ?? row.review_deployments,
    invite_only_people_max: input.inviteOnlyPeopleMax ?? row.invite_only_people_max,
    access_requests: input.accessRequests ?? row.access_requests,
    require_second_factor: input.requireSecondFactor ?? row.require_second_factor,
  };
  const before = tenantSettings(row);
  ctx.audit({
    action: 'tenants.update',
    target: { kind: 'tenant', id: row.id, name: row.slug },
    before,
    after: set,
  });
  if (Bun.deepEquals(set, before)) return { ...tenantRecord(row), changed: false };
  await updateTenantRow(ctx.db, row.id, set);
  if (set.max_resource_tier !== row.max_resource_tier)
    await publishPersonEvent(ctx, 'maxTierChanged', { tenantId: row.id, tier: set.max_resource_tier });
  if (set.require_second_factor && !row.require_second_factor)
    await publishPersonEvent(ctx, 'secondFactorRequired', { tenantId: row.id });
  return tenantRecord({ ...row, ...set });
}

/** Resolves a tenant and the caller's role; null for a missing tenant and for one without the caller. */
export function createTenantAccess({
  db,
  cache,
}: {
  db: Db;
  cache: TaggedCache<TenantAccess>;
}): (ref: string, caller: Pick<Caller, 'userId' | 'ownApp'>) => Promise<TenantAccess | null> {
  return async (ref, { userId, ownApp }) => {
    if (!isTenantRef(ref)) return null;
    return cache.get(`${userId} ${ref.toLowerCase()}`, async () => {
      const row = ownApp
        ? await findTenantForApp(db, ref, ownApp)
        : await findMemberTenantRow(db, userId, ref);
      if (!row) return null;
      const { id, slug, name, role } = row;
      return { value: { id, slug, name, role }, tags: [userTag(userId)] };
    });
  };
}

async function findTenantForApp(db: Db, ref: string, { tenantId }: AppRef) {
  const row = await findTenantRow(db, ref);
  return row?.id === tenantId ? { ...row, role: 'tenant_member' as const } : null;
}

export { listMembersOfThisAlone, requiresSecondFactor } from './store.ts';

type AuditAnswer = z.output<typeof shape.answer>;

/** Newest first. Entries are only appended, so a cursor stays valid. */
export async function listAuditEntries(
  ctx: TenantCtx,
  { cursor, per_page, action, target_id: targetId }: z.output<typeof shape.query>,
  appId?: string,
): Promise<AuditAnswer> {
  const found = await listAuditRows(ctx.db, ctx.tenant.id, {
    beforeSeq: cursor === undefined ? null : parseAuditCursor(cursor),
    limit: per_page + 1,
    action,
    targetId,
    appId,
  });
  const entries = found.slice(0, per_page);
  const last = found.length > per_page ? entries.at(-1) : undefined;
  return { items: entries.map(auditEntryRecord), next_cursor: last ? formatAuditCursor(last.seq) : null };
}

function auditEntryRecord(entry: AuditEntriesTable): AuditAnswer['items'][number] {
  return {
    seq: entry.seq,
    at: entry.at.toISOString(),
    actor: { kind: entry.actor_kind, id: entry.actor_id, name: entry.actor_name },
    action: entry.action,
    target: { kind: entry.target_kind, id: entry.target_id, name: entry.target_name },
    changes: JSON.parse(entry.changes),
    request_id: entry.request_id,
    hash: entry.hash,
  };
}

export { hasTenants } from './store.ts';
