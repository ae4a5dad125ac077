import type { TenantCtx } from '../plumbing/context.ts';
import { type PageQuery, pageAnswer, windowOf } from '../plumbing/paging.ts';
import { fail } from '../plumbing/problem.ts';
import { patRecord } from './rules.ts';
import { listPatRows } from './store.ts';

/** Newest first, the ended ones too. */
export async function listPats(ctx: TenantCtx, { of, ...query }: PageQuery & { of: 'caller' | 'everyone' }) {
  if (of === 'everyone' && ctx.tenant.role !== 'tenant_admin') throw fail('forbidden');
  const userId = of === 'everyone' ? 'everyone' : ctx.caller.userId;
  const { rows, total } = await listPatRows(ctx.db, ctx.tenant.id, userId, windowOf(query));
  return pageAnswer(
    query,
    rows.map((row) => patRecord(row, ctx.now)),
    total,
  );
}
