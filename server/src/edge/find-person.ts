import { findAppForSignIn } from '../apps/find-app-for-sign-in.ts';
import type { Db } from '../plumbing/db.ts';
import { findUser } from '../users/find-user.ts';
import { mayVisit } from '../visitors/may-visit.ts';
import type { Person } from './user-tokens.ts';

/** What somebody is to an app; null: it is not for them, or they are nobody any more. */
export async function findPerson(
  db: Db,
  { appId, userId }: { appId: string; userId: string },
): Promise<Person | null> {
  if (!(await mayVisit({ db }, { appId, userId, hostKind: 'app' }))) return null;
  const user = await findUser({ db }, { ref: userId });
  if (user?.status !== 'active') return null;
  const app = await findAppForSignIn({ db }, { appId, userId });
  return { userId, email: user.email, name: user.name, relation: app?.relation ?? 'none' };
}
