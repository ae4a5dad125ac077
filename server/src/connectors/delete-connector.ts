import { policiesOfConnector } from '../access-policies/policies-of-connector.ts';
import { activeGrantIds } from '../grants/active-grant-ids.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { deleteConnectorRow, lockConnectorRow } from './store.ts';

export async function deleteConnector(
  ctx: TenantMutationCtx,
  input: { connector: string },
): Promise<undefined> {
  const row = await lockConnectorRow(ctx.db, ctx.tenant.id, input.connector);
  if (!row) throw fail('not_found');
  const grantIds = await activeGrantIds(ctx.db, ctx.tenant.id, { connectorId: row.id });
  if (grantIds.length > 0) {
    throw fail('connector_in_use', { detail: `Active grants use it: ${grantIds.join(', ')}.` });
  }
  const policies = await policiesOfConnector(ctx.db, ctx.tenant.id, row.id);
  if (policies.length > 0) {
    throw fail('connector_in_use', { detail: `Access policies are bound to it: ${policies.join(', ')}.` });
  }
  await deleteConnectorRow(ctx.db, ctx.tenant.id, row.id);
  const { slug, name, kind, description } = row;
  ctx.audit({
    action: 'connectors.delete',
    target: { kind: 'connector', id: row.id, name: slug },
    before: { slug, name, kind, description },
    after: null,
  });
}
