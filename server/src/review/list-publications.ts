import type { listPublications as shape } from '@svc/contract/review.shapes.ts';
import type { z } from 'zod';
import { findAppOfTenant } from '../apps/find-app-of-tenant.ts';
import type { AppCtx, TenantCtx } from '../plumbing/context.ts';
import { pageAnswer, windowOf } from '../plumbing/paging.ts';
import { fail } from '../plumbing/problem.ts';
import { publicationRecords } from './publication-records.ts';
import { listPublicationRows } from './store.ts';

type Query = z.output<typeof shape.query>;

/** Of all apps of the tenant, or of one of them. */
export async function listPublications(ctx: TenantCtx, { app, ...query }: Query) {
  if (app === undefined) return listed(ctx, query);
  const found = await findAppOfTenant(ctx.db, ctx.tenant.id, { ref: app, userId: ctx.caller.userId });
  if (!found) throw fail('not_found', { detail: 'There is no such app.' });
  return listed(ctx, query, found.id);
}

export function listPublicationsOfApp(ctx: AppCtx, query: Omit<Query, 'app'>) {
  return listed(ctx, query, ctx.app.id);
}

async function listed(ctx: TenantCtx, query: Omit<Query, 'app'>, appId?: string) {
  const { status, visibility } = query;
  const wanted = { appId, status, visibility, now: ctx.now };
  const { rows, total } = await listPublicationRows(ctx.db, ctx.tenant.id, wanted, windowOf(query));
  return pageAnswer(query, await publicationRecords(ctx, ctx.tenant.id, rows), total);
}
