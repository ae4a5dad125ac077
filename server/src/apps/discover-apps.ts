import type { discoverApps as shape } from '@svc/contract/app-lists.shapes.ts';
import type { z } from 'zod';
import type { TenantCtx } from '../plumbing/context.ts';
import { pageAnswer, windowOf } from '../plumbing/paging.ts';
import { findUsers } from '../users/find-users.ts';
import { categoryFilter } from './category-filter.ts';
import { cappedIf, sortOf } from './list-apps.ts';
import { type AppQuery, listAppRows } from './list-store.ts';
import { listedApp } from './rules.ts';
import { searchWords } from './search-words.ts';
import { openTo } from './seen-by.ts';

/**
 * What there is to use: active apps that are shown to more people than their owners, and to the caller among them. That
 * an admin may look at every app does not make it one that they can use.
 */
export async function discoverApps(ctx: TenantCtx, query: z.output<typeof shape.query>) {
  const paged = { page: query.page, per_page: query.limit ?? query.per_page };
  const seen = await openTo(ctx);
  const asked: AppQuery = {
    tenantId: ctx.tenant.id,
    seen,
    sort: query.sort === undefined && query.q === undefined ? '-created_at' : sortOf(query),
    q: query.q === undefined ? undefined : searchWords(query.q),
    which: {
      record: ['active'],
      shown: 'beyond_owners',
      categoryId: await categoryFilter(ctx, query.category),
      createdSince: daysBefore(ctx.now, query.created_within_days),
    },
  };
  const { rows, total } = await listAppRows(ctx.db, asked, windowOf(paged));
  const owners = await findUsers(ctx, { ids: [...new Set(rows.map(({ owner_id }) => owner_id))] });
  const items = rows.map((row) => ({
    ...listedApp(row),
    owner_name: owners.get(row.owner_id)?.name ?? '',
  }));
  return { ...pageAnswer(paged, items, total), ...cappedIf(asked, total) };
}

function daysBefore(now: Date, days: number | undefined): Date | undefined {
  return days === undefined ? undefined : new Date(now.getTime() - days * 86_400_000);
}
