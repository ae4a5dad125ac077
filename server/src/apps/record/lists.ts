import type {
  discoverApps as discoverAppsShape,
  searchApps as searchAppsShape,
  listApps as shape,
} from '@svc/contract/app-lists.shapes.ts';
import { searchHitsMax } from '@svc/contract/app-lists.ts';
import { visibilities } from '@svc/contract/apps.ts';
import type { z } from 'zod';
import type { TenantCtx } from '../../core/context.ts';
import { type PageQuery, pageWindow, toPage } from '../../core/paging.ts';
import { fail, validationError } from '../../core/problem.ts';
import { daysAfter, isUuid, nilUuid, sha256 } from '../../core/values.ts';
import { findUsers } from '../../people/users/users.ts';
import { findCategory } from '../categories/categories.ts';
import {
  type AppQuery,
  type CursorPosition,
  type ListedRow,
  listAppRows,
  listAppsSharedWith,
  searchWords,
  type VisibilityFilter,
} from './list-store.ts';
import { type AppUrls, appListItem, appUrl, isVisibleTo } from './rules.ts';

export async function listApps(ctx: TenantCtx, query: z.output<typeof shape.query>) {
  const isAdmin = ctx.tenant.role === 'tenant_admin';
  const deleted = query.deleted === 'true';
  const listQuery: AppQuery = {
    tenantId: ctx.tenant.id,
    visible: await callerVisibility(ctx),
    sort: resolveSort(query),
    q: query.q === undefined ? undefined : searchWords(query.q),
    filter: {
      record: deleted ? ['deleted'] : ['active', 'archived'],
      // A deleted app is listed for its representative owner and the admins.
      ownerId: deleted && !isAdmin ? ctx.caller.userId : undefined,
      deploymentStatus: mergeFilterValues(query.status, query.status_in),
      operatingStatus: mergeFilterValues(query.operating_status, query.operating_status_in),
      reviewStatus: mergeFilterValues(query.review_status, query.review_status_in),
      visibility: query.visibility,
      categoryId: await categoryFilter(ctx, query.category_id),
    },
  };
  return listByCursor(ctx, listQuery, query);
}

export async function searchApps(ctx: TenantCtx, query: z.output<typeof searchAppsShape.query>) {
  const listQuery: AppQuery = {
    tenantId: ctx.tenant.id,
    visible: await callerVisibility(ctx),
    sort: query.sort,
    q: searchWords(query.q),
    filter: {
      record: ['active', 'archived'],
      deploymentStatus: mergeFilterValues(query.status, query.status_in),
      visibility: query.visibility,
      categoryId: await categoryFilter(ctx, query.category),
    },
  };
  const per_page = query.limit ?? query.per_page;
  const { items, capped, next_cursor } = await listByCursor(ctx, listQuery, { ...query, per_page });
  return { items, capped, next_cursor };
}

async function listByCursor(
  ctx: TenantCtx,
  listQuery: AppQuery,
  query: { q?: string; cursor?: string; page?: number; per_page: number },
) {
  const listing = [ctx.tenant.id, listQuery.sort, sha256(query.q ?? '')];
  const after = readCursor(listing, query);
  const paged = { page: query.page ?? 1, per_page: query.per_page };
  const { limit, offset } = pageWindow(paged);
  const window = { limit: limit + 1, offset: after ? 0 : offset, after };
  const { rows, total } = await listAppRows(ctx.db, listQuery, window);
  const items = rows.slice(0, limit);
  return {
    ...toPage(paged, items.map(appListItem), total),
    capped: isCapped(listQuery, total),
    next_cursor: rows.length > limit ? formatCursor(listing, items.at(-1)) : null,
  };
}

function isCapped({ q }: AppQuery, total: number): true | undefined {
  return q && total >= searchHitsMax ? true : undefined;
}

function resolveSort({ q, sort }: { q?: string; sort?: AppQuery['sort'] }): AppQuery['sort'] {
  if (q === undefined && sort === 'relevance') throw validationError('sort', 'can be relevance only with q');
  return sort ?? (q === undefined ? 'slug' : 'relevance');
}

function mergeFilterValues(one?: string, many?: readonly string[]): string[] | undefined {
  if (one === undefined && many === undefined) return undefined;
  return [one ?? [], many ?? []].flat();
}

export async function discoverApps(
  ctx: TenantCtx,
  query: z.output<typeof discoverAppsShape.query>,
  urls: AppUrls,
) {
  const paged = { page: query.page, per_page: query.limit ?? query.per_page };
  const { created_within_days: days } = query;
  const listQuery: AppQuery = {
    tenantId: ctx.tenant.id,
    visible: await relationVisibility(ctx),
    sort: query.sort === undefined && query.q === undefined ? '-created_at' : resolveSort(query),
    q: query.q === undefined ? undefined : searchWords(query.q),
    filter: {
      record: ['active'],
      isShared: true,
      categoryId: await categoryFilter(ctx, query.category),
      createdSince: days === undefined ? undefined : daysAfter(ctx.now, -days),
    },
  };
  const { rows, total } = await listAppRows(ctx.db, listQuery, pageWindow(paged));
  const owners = await findUsers(ctx, { ids: [...new Set(rows.map(({ owner_id }) => owner_id))] });
  const items = rows.map((row) => ({
    ...appListItem(row),
    owner_name: owners.get(row.owner_id)?.name ?? '',
    url:
      urls === null || row.subdomain === null || row.runtime !== 'running'
        ? null
        : appUrl(urls, row.subdomain),
  }));
  return { ...toPage(paged, items, total), capped: isCapped(listQuery, total) };
}

type OwnRelation = 'owner' | 'co_owner' | 'member';

export async function listOwnApps(
  ctx: TenantCtx,
  { relations, query }: { relations: readonly OwnRelation[]; query: PageQuery },
) {
  const { userId } = ctx.caller;
  const shared = (await listAppsSharedWith(ctx.db, ctx.tenant.id, userId)).filter(
    ({ relation, visibility }) =>
      relations.includes(relation) && isVisibleTo(visibility, relation, 'tenant_member'),
  );
  const relationOf = new Map<string, OwnRelation>(shared.map(({ id, relation }) => [id, relation]));
  const listQuery: AppQuery = {
    tenantId: ctx.tenant.id,
    visible: 'all',
    sort: 'slug',
    filter: {
      record: ['active', 'archived'],
      ownerId: relations.includes('owner') ? userId : undefined,
      ids: [...relationOf.keys()],
    },
  };
  const { rows, total } = await listAppRows(ctx.db, listQuery, pageWindow(query));
  const items = rows.map((row) => ({ ...appListItem(row), relation: relationOf.get(row.id) ?? 'owner' }));
  return toPage(query, items, total);
}

async function categoryFilter(ctx: TenantCtx, ref: string | undefined): Promise<string | undefined> {
  if (ref === undefined) return undefined;
  return (await findCategory(ctx.db, ctx.tenant.id, ref))?.id ?? nilUuid;
}

async function callerVisibility(ctx: TenantCtx): Promise<VisibilityFilter> {
  return ctx.tenant.role === 'tenant_admin' ? 'all' : relationVisibility(ctx);
}

async function relationVisibility({ db, tenant, caller }: TenantCtx): Promise<VisibilityFilter> {
  const shared = await listAppsSharedWith(db, tenant.id, caller.userId);
  return {
    open: visibilities.filter((visibility) => isVisibleTo(visibility, 'none', 'tenant_member')),
    ownerId: caller.userId,
    ids: shared
      .filter((app) => isVisibleTo(app.visibility, app.relation, 'tenant_member'))
      .map(({ id }) => id),
  };
}

/** Bound to its listing; cursors cannot be mixed. Not an authorization: rows are filtered on each page. */
function formatCursor(listing: readonly string[], last: ListedRow | undefined): string | null {
  if (!last) return null;
  return Buffer.from(JSON.stringify([...listing, last.sort_key, last.id])).toString('base64url');
}

function readCursor(
  listing: readonly string[],
  { cursor, page }: { cursor?: string; page?: number },
): CursorPosition | undefined {
  if (cursor === undefined) return undefined;
  if (page !== undefined) throw validationError('cursor', 'cannot be combined with page');
  const parts = parseCursor(cursor);
  const [key, id] = parts.slice(listing.length);
  const isSameListing =
    parts.length === listing.length + 2 && listing.every((part, at) => parts[at] === part);
  if (!isSameListing || key === undefined || id === undefined || !isUuid(id) || !isSortKey(listing, key))
    throw fail('invalid_cursor');
  return { key, id };
}

/** Rejects keys that PostgreSQL could not parse as the sort's type. */
function isSortKey([, sort]: readonly string[], key: string): boolean {
  if (sort === 'relevance') return /^\d{1,2}(\.\d{1,17})?$/.test(key);
  if (sort?.endsWith('_at')) return isTime(key);
  return !key.includes('\u0000') && key.isWellFormed();
}

function isTime(key: string): boolean {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(key) || key.startsWith('0000')) return false;
  const seconds = `${key.slice(0, 19)}.000Z`;
  const time = new Date(seconds);
  return !Number.isNaN(time.getTime()) && time.toISOString() === seconds;
}

function parseCursor(cursor: string): string[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    return Array.isArray(value) && value.every((part) => typeof part === 'string') ? value : [];
  } catch {
    return [];
  }
}
