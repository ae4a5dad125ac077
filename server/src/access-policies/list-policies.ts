import type { listPolicies as shape } from '@svc/contract/access-policies.shapes.ts';
import type { z } from 'zod';
import { findConnectorId } from '../connectors/find-connector.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { pageAnswer, windowOf } from '../plumbing/paging.ts';
import { listPolicyRows, policyRecord } from './store.ts';

export async function listPolicies(ctx: TenantCtx, query: z.output<typeof shape.query>) {
  const ref = query.connector_id;
  const connectorId = ref === undefined ? undefined : await findConnectorId(ctx.db, ctx.tenant.id, ref);
  if (connectorId === null) return pageAnswer(query, [], 0);
  const { rows, total } = await listPolicyRows(ctx.db, ctx.tenant.id, { connectorId }, windowOf(query));
  return pageAnswer(query, rows.map(policyRecord), total);
}
