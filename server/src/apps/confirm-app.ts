import type { AppAccess, AppCtx } from '../plumbing/context.ts';
import { isEnough } from '../plumbing/is-enough.ts';
import { fail } from '../plumbing/problem.ts';
import { findMember } from '../tenants/find-member.ts';
import { findApp } from './find-app.ts';

/**
 * The app as it is by now, for the end of a wait inside the transaction: who was let through may have been taken out
 * since, and whatever was committed before this question counts. It locks nothing, since a right ends at once and not
 * after the changes that others are making.
 */
export async function confirmApp(
  { db, tenant: { id }, app: { id: ref }, caller }: Pick<AppCtx, 'db' | 'tenant' | 'app' | 'caller'>,
  { wanted }: { wanted: 'owners' | 'owners_or_admin' },
): Promise<AppAccess> {
  const member = await findMember(db, id, caller.userId);
  if (member?.status !== 'active') throw fail('not_found');
  const app = await findApp(db, { id, role: member.role }, { ref, caller });
  if (!app) throw fail('not_found');
  if (!isEnough(wanted, app, member)) throw fail('forbidden');
  return app;
}
