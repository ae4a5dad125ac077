import type { Db } from '../plumbing/db.ts';
import { findPolicyRows } from './store.ts';

/** For other slices: what a decision about access needs to know of policies. */
export async function policyFacts(db: Db, tenantId: string, ids: readonly string[]) {
  return (await findPolicyRows(db, tenantId, ids)).map((row) => ({
    id: row.id,
    connectorId: row.connector_id,
    resourcePath: row.resource_path,
    actions: row.actions,
    enabled: row.enabled,
  }));
}
