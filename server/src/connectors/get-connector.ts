import type { TenantCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { connectorRecord, findConnectorRow } from './store.ts';

export async function getConnector(ctx: TenantCtx, input: { connector: string }) {
  const row = await findConnectorRow(ctx.db, ctx.tenant.id, input.connector);
  if (!row) throw fail('not_found');
  return connectorRecord(row);
}
