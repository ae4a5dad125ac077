import type { TenantCtx } from '../plumbing/context.ts';
import { type PageQuery, pageAnswer, windowOf } from '../plumbing/paging.ts';
import { type AppQuery, appsSharedWith, listAppRows } from './list-store.ts';
import { listedApp, reaches } from './rules.ts';

export type OwnRelation = 'owner' | 'co_owner' | 'member';

/** Apps that the caller has to do with, and how. An invitation to an app that has been made private since shows nothing. */
export async function listOwnApps(
  ctx: TenantCtx,
  { relations, query }: { relations: readonly OwnRelation[]; query: PageQuery },
) {
  const { userId } = ctx.caller;
  const shared = (await appsSharedWith(ctx.db, ctx.tenant.id, userId)).filter(
    ({ relation, visibility }) =>
      relations.includes(relation) && reaches(visibility, relation, 'tenant_member'),
  );
  const relationOf = new Map<string, OwnRelation>(shared.map(({ id, relation }) => [id, relation]));
  const asked: AppQuery = {
    tenantId: ctx.tenant.id,
    seen: 'all',
    sort: 'slug',
    which: {
      record: ['active', 'archived'],
      ownerId: relations.includes('owner') ? userId : undefined,
      ids: [...relationOf.keys()],
    },
  };
  const { rows, total } = await listAppRows(ctx.db, asked, windowOf(query));
  const items = rows.map((row) => ({ ...listedApp(row), relation: relationOf.get(row.id) ?? 'owner' }));
  return pageAnswer(query, items, total);
}
