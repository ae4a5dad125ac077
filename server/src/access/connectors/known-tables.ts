import { sql } from 'kysely';
import type { Db } from '../../core/db.ts';

export interface KnownTable {
  connector_id: string;
  /** `schema/table`, as in scopes of grants. */
  path: string;
}

/** Tables behind connectors, as of the last refresh of their schema. */
export async function listKnownTables(
  db: Db,
  tenantId: string,
  connectorIds: readonly string[],
): Promise<KnownTable[]> {
  const { rows } = await sql<KnownTable>`
    select connector_id, schema_name || '/' || table_name as path from svc.connector_tables
    where tenant_id = ${tenantId} and connector_id = any(${connectorIds}::uuid[]) order by 1, 2`.execute(db);
  return rows;
}
