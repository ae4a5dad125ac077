import { visibilities } from '@svc/contract/apps.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { type PageQuery, pageAnswer, windowOf } from '../plumbing/paging.ts';
import { appRecord, reaches } from './rules.ts';
import { listAppRows } from './store.ts';

/** Never more than the caller could get one by one. */
export async function listApps(ctx: TenantCtx, query: PageQuery) {
  const open = visibilities.filter((visibility) => reaches(visibility, 'none', ctx.tenant.role));
  const seen = { userId: ctx.caller.userId, open };
  const { rows, total } = await listAppRows(ctx.db, ctx.tenant.id, seen, windowOf(query));
  return pageAnswer(query, rows.map(appRecord), total);
}
