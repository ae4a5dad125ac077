import type { updateConnector as shape } from '@svc/contract/connectors.shapes.ts';
import type { z } from 'zod';
import { isSame } from '../plumbing/canonical.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { connectorRecord, lockConnectorRow, updateConnectorRow } from './store.ts';

export async function updateConnector(
  ctx: TenantMutationCtx,
  input: { connector: string; set: z.output<typeof shape.body> },
) {
  const row = await lockConnectorRow(ctx.db, ctx.tenant.id, input.connector);
  if (!row) throw fail('not_found');
  const before = { name: row.name, description: row.description };
  const after = { name: input.set.name ?? row.name, description: input.set.description ?? row.description };
  ctx.audit({
    action: 'connectors.update',
    target: { kind: 'connector', id: row.id, name: row.slug },
    before,
    after,
  });
  if (isSame(before, after)) return connectorRecord(row);
  await updateConnectorRow(ctx.db, ctx.tenant.id, row.id, { ...after, updated_at: ctx.now });
  return connectorRecord({ ...row, ...after, updated_at: ctx.now });
}
