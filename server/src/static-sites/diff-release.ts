import type { diffRelease as shape } from '@svc/contract/static-sites.shapes.ts';
import type { z } from 'zod';
import type { AppCtx } from '../plumbing/context.ts';
import { pageAnswer, windowOf } from '../plumbing/paging.ts';
import { fail } from '../plumbing/problem.ts';
import { countFileChanges, listFileChanges } from './diff-store.ts';
import { findReleaseRow } from './release-store.ts';
import { findSiteRow } from './site-store.ts';

/** By their sums: no content is looked at. */
export async function diffRelease(
  ctx: AppCtx,
  { id, against: asked, change, ...query }: { id: string } & z.output<typeof shape.query>,
) {
  const place = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  for (const release of [id, asked])
    if (release !== undefined && !(await findReleaseRow(ctx.db, place, release))) throw fail('not_found');
  const against = asked ?? (await shownRelease(ctx)) ?? null;
  const pair = { release: id, against };
  const counts = await countFileChanges(ctx.db, place, pair);
  const items = await listFileChanges(ctx.db, place, { ...pair, change, ...windowOf(query) });
  const { added, removed, changed, same } = counts;
  const different = added + removed + changed;
  const total = change === undefined ? different + same : { ...counts, different }[change];
  return { ...pageAnswer(query, items, total), against, counts };
}

async function shownRelease(ctx: AppCtx): Promise<string | null | undefined> {
  const site = await findSiteRow(ctx.db, { tenantId: ctx.tenant.id, appId: ctx.app.id });
  return site?.is_published ? site.active_release_id : null;
}
