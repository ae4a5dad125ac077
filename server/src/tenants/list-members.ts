import type { listMembers as shape } from '@svc/contract/tenants.shapes.ts';
import type { z } from 'zod';
import type { TenantCtx } from '../plumbing/context.ts';
import { pageAnswer, windowOf } from '../plumbing/paging.ts';
import { memberRecord } from './rules.ts';
import { listMemberRows } from './store.ts';

export async function listMembers(ctx: TenantCtx, query: z.output<typeof shape.query>) {
  const { rows, total } = await listMemberRows(ctx.db, ctx.tenant.id, { q: query.q }, windowOf(query));
  return pageAnswer(query, rows.map(memberRecord), total);
}
