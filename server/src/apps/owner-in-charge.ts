import type { Db } from '../plumbing/db.ts';
import { ownsApp } from '../plumbing/is-enough.ts';
import { fail } from '../plumbing/problem.ts';
import { findMember } from '../tenants/find-member.ts';
import { findAppRowOf } from './store.ts';

/**
 * In whose name the platform does what was asked for earlier: of who asked, as long as they are one of the app's owners
 * and active; else of its representative owner, whether they are active or not, since it was allowed when it was asked.
 */
export async function ownerInCharge(
  db: Db,
  { tenantId, appId }: { tenantId: string; appId: string },
  { askedBy }: { askedBy: string | null },
): Promise<string> {
  const app = await findAppRowOf(db, tenantId, askedBy ?? '', appId);
  if (!app) throw fail('not_found');
  if (askedBy === null || !ownsApp(app.relation)) return app.owner_id;
  const member = await findMember(db, tenantId, askedBy);
  return member?.status === 'active' ? askedBy : app.owner_id;
}
