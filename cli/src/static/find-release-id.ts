import { perPageMax } from '@svc/contract/limits.ts';
import { listReleases } from '@svc/contract/static-sites.ts';
import type { Ctx } from '../context.ts';
import { refused } from './refused.ts';

/** The id of the release that has a number within its app. */
export async function findReleaseId(
  ctx: Ctx,
  params: { tenantID: string; app: string },
  number: number,
): Promise<string> {
  const client = await ctx.client();
  for (let page = 1; ; page += 1) {
    const query = { page, per_page: perPageMax };
    const { items, total } = await client.call(listReleases, { params, query }, { signal: ctx.signal });
    const found = items.find((release) => release.number === number);
    if (found !== undefined) return found.id;
    // The newest come first.
    const isPast = (items.at(-1)?.number ?? 0) < number;
    if (isPast || page * perPageMax >= total) throw unknown(number);
  }
}

function unknown(number: number): Error {
  return refused('not_found', {
    detail: `There is no release ${number}.`,
    next: 'svc apps static releases list --app <app> shows the releases.',
  });
}
