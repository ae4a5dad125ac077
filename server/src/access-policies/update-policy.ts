import type { updatePolicy as shape } from '@svc/contract/access-policies.shapes.ts';
import type { z } from 'zod';
import { isSame } from '../plumbing/canonical.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { etagOf, matchesEtag } from '../plumbing/etag.ts';
import { fail } from '../plumbing/problem.ts';
import { checkPolicy, connectorOf } from './check-policy.ts';
import { auditedFields } from './rules.ts';
import { lockPolicyRow, type PolicyFields, policyRecord, updatePolicyRow } from './store.ts';

/** Serves PATCH with some fields and PUT with all of them. */
export async function updatePolicy(
  ctx: TenantMutationCtx,
  input: { policyId: string; set: z.output<typeof shape.body>; ifMatch: string | undefined },
) {
  const row = await lockPolicyRow(ctx.db, ctx.tenant.id, input.policyId);
  if (!row) throw fail('not_found');
  if (!matchesEtag(input.ifMatch, etagOf(row))) throw fail('precondition_failed');
  const { connector_id: connector, ...rest } = input.set;
  const fields: PolicyFields = {
    ...row,
    ...rest,
    connector_id: connector === undefined ? row.connector_id : await connectorOf(ctx, connector),
  };
  await checkPolicy(ctx, fields, row);
  ctx.audit({
    action: 'policies.update',
    target: { kind: 'policy', id: row.id, name: row.name },
    before: auditedFields(row),
    after: auditedFields(fields),
  });
  if (isSame(auditedFields(row), auditedFields(fields))) return policyRecord(row);
  const next = {
    ...row,
    ...fields,
    version: row.version + 1,
    updated_by: ctx.caller.userId,
    updated_at: ctx.now,
  };
  await updatePolicyRow(ctx.db, ctx.tenant.id, row.id, next);
  return policyRecord(next);
}
