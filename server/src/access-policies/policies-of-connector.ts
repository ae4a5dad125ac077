import type { Db } from '../plumbing/db.ts';
import { policyNamesOfConnector } from './store.ts';

/** For other slices: names of a few policies that are bound to the connector. */
export function policiesOfConnector(db: Db, tenantId: string, connectorId: string): Promise<string[]> {
  return policyNamesOfConnector(db, tenantId, connectorId);
}
