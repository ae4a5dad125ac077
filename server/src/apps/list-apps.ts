import type { listApps as shape } from '@svc/contract/app-lists.shapes.ts';
import { searchHitsMax } from '@svc/contract/app-lists.ts';
import type { z } from 'zod';
import { sha256 } from '../plumbing/canonical.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { pageAnswer, windowOf } from '../plumbing/paging.ts';
import { invalid } from '../plumbing/problem.ts';
import { categoryFilter } from './category-filter.ts';
import { cursorFrom, readCursor } from './list-cursor.ts';
import { type AppQuery, listAppRows } from './list-store.ts';
import { listedApp } from './rules.ts';
import { searchWords } from './search-words.ts';
import { seenBy } from './seen-by.ts';

type Query = z.output<typeof shape.query>;

/** By page, or from a cursor on, which loses nothing when apps come and go between two pages. */
export async function listApps(ctx: TenantCtx, query: Query) {
  const asked = await queryOf(ctx, query);
  const listing = [ctx.tenant.id, asked.sort, sha256(query.q ?? '')];
  const after = readCursor(listing, query);
  const paged = { page: query.page ?? 1, per_page: query.per_page };
  const window = windowOf(paged);
  const page = { limit: window.limit + 1, offset: after ? 0 : window.offset, after };
  const { rows, total } = await listAppRows(ctx.db, asked, page);
  const items = rows.slice(0, window.limit);
  return {
    ...pageAnswer(paged, items.map(listedApp), total),
    ...cappedIf(asked, total),
    next_cursor: rows.length > window.limit ? cursorFrom(listing, items.at(-1)) : null,
  };
}

/** Said where a search may have left out some that fit less well. */
export function cappedIf({ q }: Pick<AppQuery, 'q'>, total: number): { capped?: true } {
  return q && total >= searchHitsMax ? { capped: true } : {};
}

async function queryOf(ctx: TenantCtx, query: Query): Promise<AppQuery> {
  const isAdmin = ctx.tenant.role === 'tenant_admin';
  const deleted = query.deleted === 'true';
  return {
    tenantId: ctx.tenant.id,
    seen: await seenBy(ctx),
    sort: sortOf(query),
    q: query.q === undefined ? undefined : searchWords(query.q),
    which: {
      record: deleted ? ['deleted'] : ['active', 'archived'],
      // A deleted app is its representative owner's and the admins' to bring back.
      ownerId: deleted && !isAdmin ? ctx.caller.userId : undefined,
      deploymentStatus: either(query.status, query.status_in),
      operatingStatus: either(query.operating_status, query.operating_status_in),
      reviewStatus: either(query.review_status, query.review_status_in),
      visibility: query.visibility,
      categoryId: await categoryFilter(ctx, query.category_id),
    },
  };
}

/** Words are ranked unless another order is asked for; without words there is nothing to rank by. */
export function sortOf({
  q,
  sort,
}: {
  q?: string | undefined;
  sort?: AppQuery['sort'] | undefined;
}): AppQuery['sort'] {
  if (q === undefined && sort === 'relevance')
    throw invalid('sort', 'is relevance only where words are searched');
  return sort ?? (q === undefined ? 'slug' : 'relevance');
}

/** One value and a list of them: any of all these. */
export function either(one: string | undefined, many: readonly string[] | undefined): string[] | undefined {
  if (one === undefined && many === undefined) return undefined;
  return [...(one === undefined ? [] : [one]), ...(many ?? [])];
}
