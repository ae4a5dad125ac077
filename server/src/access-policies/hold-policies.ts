import type { Tx } from '../plumbing/db.ts';
import { holdPolicyRows } from './store.ts';

/** For other slices: holds the policies until the transaction ends and answers which of them do not exist. */
export async function holdPolicies(tx: Tx, tenantId: string, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const held = new Set((await holdPolicyRows(tx, tenantId, ids)).map((row) => row.id));
  return ids.filter((id) => !held.has(id));
}
