import { holdConnector } from '../connectors/find-connector.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { rowFilterFault } from '../rows/row-filter-fault.ts';
import { maskedButHidden, maskedTwice, namedTwice } from './rules.ts';
import { type PolicyFields, policyNameTaken } from './store.ts';

/** What a policy must satisfy beyond its shape; the same for one that is made and one that is changed. */
export async function checkPolicy(
  ctx: TenantMutationCtx,
  fields: PolicyFields,
  before: PolicyFields | null,
): Promise<void> {
  // One that was stored unread can still be switched off.
  const fault = fields.row_filter === before?.row_filter ? null : rowFilterFault(fields.row_filter);
  if (fault !== null) throw invalid('row_filter', fault);
  const named = namedTwice(fields);
  if (named.length > 0) throw invalid('columns', `named twice: ${named.join(', ')}`);
  const hidden = maskedButHidden(fields);
  if (hidden.length > 0) throw invalid('masks', `not visible by \`columns\`: ${hidden.join(', ')}`);
  const twice = maskedTwice(fields);
  if (twice.length > 0) throw invalid('masks', `masked twice: ${twice.join(', ')}`);
  if (fields.name !== before?.name && (await policyNameTaken(ctx.db, ctx.tenant.id, fields.name))) {
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
