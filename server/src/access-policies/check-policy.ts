import { holdConnector } from '../connectors/find-connector.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { maskedButHidden, maskedTwice } from './rules.ts';
import { type PolicyFields, policyNameTaken } from './store.ts';

/** What a policy must satisfy beyond its shape; the same for one that is made and one that is changed. */
export async function checkPolicy(
  ctx: TenantMutationCtx,
  fields: PolicyFields,
  previousName: string | null,
): Promise<void> {
  const hidden = maskedButHidden(fields);
  if (hidden.length > 0) throw invalid('masks', `not visible by \`columns\`: ${hidden.join(', ')}`);
  const twice = maskedTwice(fields);
  if (twice.length > 0) throw invalid('masks', `masked twice: ${twice.join(', ')}`);
  if (fields.name !== previousName && (await policyNameTaken(ctx.db, ctx.tenant.id, fields.name))) {
    throw fail('unique_violation', { detail: `A policy named ${fields.name} exists already.` });
  }
}

/** `''` is any connector; a slug or an id must be one of this tenant's. */
export async function connectorOf(ctx: TenantMutationCtx, ref: string): Promise<string | null> {
  if (ref === '') return null;
  const id = await holdConnector(ctx.db, ctx.tenant.id, ref);
  if (!id) throw invalid('connector_id', 'is not a connector of this tenant', 'unknown_connector');
  return id;
}
