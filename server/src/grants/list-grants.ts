import type { listGrants as shape } from '@svc/contract/grants.shapes.ts';
import type { z } from 'zod';
import { findConnectorId } from '../connectors/find-connector.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { pageAnswer, windowOf } from '../plumbing/paging.ts';
import { isUuid } from '../plumbing/ref.ts';
import { findMember } from '../tenants/find-member.ts';
import { grantRecord, listGrantRows } from './store.ts';

export async function listGrants(ctx: TenantCtx, query: z.output<typeof shape.query>) {
  const subjectId = query.subject_id === undefined ? undefined : await subjectIdOf(ctx, query.subject_id);
  const connectorId =
    query.connector_id === undefined ? undefined : await connectorIdOf(ctx, query.connector_id);
  // A name that belongs to nothing is in no grant.
  if (subjectId === null || connectorId === null) return pageAnswer(query, [], 0);
  const filter = { status: query.status, subjectId, connectorId, policyId: query.policy_id };
  const { rows, total } = await listGrantRows(ctx.db, ctx.tenant.id, filter, windowOf(query));
  return pageAnswer(query, rows.map(grantRecord), total);
}

/** Also of people who have left: their grants are still listed by id. */
async function subjectIdOf(ctx: TenantCtx, ref: string): Promise<string | null> {
  return isUuid(ref) ? ref.toLowerCase() : ((await findMember(ctx.db, ctx.tenant.id, ref))?.userId ?? null);
}

async function connectorIdOf(ctx: TenantCtx, ref: string): Promise<string | null> {
  return isUuid(ref) ? ref : findConnectorId(ctx.db, ctx.tenant.id, ref);
}
