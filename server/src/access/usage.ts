import { sql } from 'kysely';
import type { TenantCtx } from '../core/context.ts';
import type { Db } from '../core/db.ts';
import { fail } from '../core/problem.ts';

/** Outside the slices: grants and policies import connectors and presets, which cannot import them back. */
const namedMax = 5;

const grantUses = {
  policy: (id: string) => sql`policy_ids @> array[${id}::text]`,
  connector: (id: string) => sql`connector_id = ${id}`,
  preset: (id: string) => sql`preset_id = ${id}`,
};

export async function refuseWhileGranted(
  { db, tenant }: TenantCtx,
  kind: keyof typeof grantUses,
  id: string,
): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select id from svc.grants where tenant_id = ${tenant.id} and status = 'active'
    and (expires_at is null or expires_at > clock_timestamp()) and ${grantUses[kind](id)}
    order by id limit ${namedMax}`.execute(db);
  if (rows.length > 0)
    throw fail(`${kind}_in_use`, {
      detail: `Active grants use it: ${rows.map((row) => row.id).join(', ')}.`,
    });
}

export async function listPolicyNamesOfConnector(db: Db, tenantId: string, connectorId: string) {
  const { rows } = await sql<{ name: string }>`
    select name from svc.access_policies where tenant_id = ${tenantId} and connector_id = ${connectorId}
    order by name limit ${namedMax}`.execute(db);
  return rows.map(({ name }) => name);
}
