import type { Db } from '../plumbing/db.ts';
import { ownsApp } from '../plumbing/is-enough.ts';
import { fail } from '../plumbing/problem.ts';
import { findMember } from '../tenants/find-member.ts';
import { findAppRow, findAppRowOf } from './store.ts';

/**
 * In whose name the platform does what was asked for earlier: of who asked, as long as they are one of the app's owners
 * and active; else of its representative owner, whether they are active or not, since it was allowed when it was asked.
 */
export async function ownerInCharge(
  db: Db,
  { tenantId, appId }: { tenantId: string; appId: string },
  { askedBy }: { askedBy: string | null },
): Promise<string> {
  const app = await findAppRow(db, tenantId, appId);
  if (!app) throw fail('not_found');
  if (askedBy === null) return app.owner_id;
  const relation = (await findAppRowOf(db, tenantId, askedBy, appId))?.relation ?? 'none';
  const member = ownsApp(relation) ? await findMember(db, tenantId, askedBy) : null;
  return member?.status === 'active' ? askedBy : app.owner_id;
}
