import type { searchApps as shape } from '@svc/contract/app-lists.shapes.ts';
import type { z } from 'zod';
import { sha256 } from '../plumbing/canonical.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { windowOf } from '../plumbing/paging.ts';
import { categoryFilter } from './category-filter.ts';
import { cappedIf, either } from './list-apps.ts';
import { cursorFrom, readCursor } from './list-cursor.ts';
import { listAppRows } from './list-store.ts';
import { listedApp } from './rules.ts';
import { searchWords } from './search-words.ts';
import { seenBy } from './seen-by.ts';

export async function searchApps(ctx: TenantCtx, query: z.output<typeof shape.query>) {
  const q = searchWords(query.q);
  const listing = [ctx.tenant.id, query.sort, sha256(query.q)];
  const after = readCursor(listing, query);
  const { limit, offset } = windowOf({ page: query.page ?? 1, per_page: query.limit ?? query.per_page });
  const { rows, total } = await listAppRows(
    ctx.db,
    {
      tenantId: ctx.tenant.id,
      seen: await seenBy(ctx),
      sort: query.sort,
      q,
      which: {
        record: ['active', 'archived'],
        deploymentStatus: either(query.status, query.status_in),
        visibility: query.visibility,
        categoryId: await categoryFilter(ctx, query.category),
      },
    },
    { limit: limit + 1, offset: after ? 0 : offset, after },
  );
  const items = rows.slice(0, limit);
  return {
    items: items.map(listedApp),
    ...cappedIf({ q }, total),
    next_cursor: rows.length > limit ? cursorFrom(listing, items.at(-1)) : null,
  };
}
