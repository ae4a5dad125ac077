import { listPublications, listPublicationsOfApp } from '@svc/contract/review.ts';
import { askPages } from '../ask-pages.ts';
import type { Ctx } from '../context.ts';
import { resolveTenant } from '../tenant.ts';

export interface HistoryQuestion {
  /** Of the whole tenant when absent: only what is decided or over, the rest stands in `svc review list`. */
  app: string | undefined;
  page: number;
  per_page: number;
  pages: 'one' | 'all';
}

export async function listHistory(
  ctx: Ctx,
  { app, page, per_page, pages }: HistoryQuestion,
): Promise<unknown> {
  const tenantID = await resolveTenant(ctx);
  const paging = { page, per_page };
  if (app === undefined) {
    const input = { params: { tenantID }, query: { ...paging, status: 'settled' } } as const;
    return askPages(ctx, { endpoint: listPublications, input, pages });
  }
  const input = { params: { tenantID, app }, query: paging };
  return askPages(ctx, { endpoint: listPublicationsOfApp, input, pages });
}
