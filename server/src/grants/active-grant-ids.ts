import type { Db } from '../plumbing/db.ts';
import { activeIds } from './store.ts';

const namedMax = 5;

/** For other slices: a few of the active grants that name a policy, connector or preset, so none may vanish. */
export function activeGrantIds(
  db: Db,
  tenantId: string,
  user: { policyId: string } | { connectorId: string } | { presetId: string },
): Promise<string[]> {
  return activeIds(db, tenantId, user, namedMax);
}
