import type { AppCtx } from '../plumbing/context.ts';
import { type PageQuery, pageAnswer, windowOf } from '../plumbing/paging.ts';
import { fail } from '../plumbing/problem.ts';
import { listFileRows } from './file-store.ts';
import { findReleaseRow } from './release-store.ts';

/** Of a release that is never shown again there may be none left. */
export async function listReleaseFiles(ctx: AppCtx, { id, ...query }: { id: string } & PageQuery) {
  const place = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  if (!(await findReleaseRow(ctx.db, place, id))) throw fail('not_found');
  const { rows, total } = await listFileRows(ctx.db, place, { releaseId: id, ...windowOf(query) });
  return pageAnswer(query, rows, total);
}
