import type { Db } from '../plumbing/db.ts';
import { tenantsWithOverdueGrants } from './store.ts';

/** For the sweep: tenants that have grants whose expiry is not written down yet. */
export function tenantsWithExpiredGrants(db: Db): Promise<string[]> {
  return tenantsWithOverdueGrants(db);
}
