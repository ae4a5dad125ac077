import type { createPolicy as shape } from '@svc/contract/access-policies.shapes.ts';
import type { z } from 'zod';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { checkPolicy, connectorOf } from './check-policy.ts';
import { auditedFields } from './rules.ts';
import { insertPolicyRow, type PolicyRow, policyRecord } from './store.ts';

export async function createPolicy(ctx: TenantMutationCtx, input: z.output<typeof shape.body>) {
  const fields = { ...input, connector_id: await connectorOf(ctx, input.connector_id) };
  await checkPolicy(ctx, fields, null);
  const row: PolicyRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    ...fields,
    version: 1,
    created_by: ctx.caller.userId,
    created_at: ctx.now,
    updated_by: ctx.caller.userId,
    updated_at: ctx.now,
  };
  await insertPolicyRow(ctx.db, row);
  ctx.audit({
    action: 'policies.create',
    target: { kind: 'policy', id: row.id, name: row.name },
    before: null,
    after: auditedFields(row),
  });
  return policyRecord(row);
}
