import { removeCoOwner } from '@svc/contract/apps.ts';
import { removeAppMember } from '@svc/contract/owners.ts';
import { type Asker, whyNot } from '../../../api/may.ts';

/** Why somebody may not take another from an app; everybody but its owner may go by themself. */
export function whyNotRemove(
  { role, user_id }: { role: 'owner' | 'co_owner' | 'member'; user_id: string },
  asker: Asker & { id: string },
): string | null {
  if (role === 'owner') return 'The owner goes by handing the app over.';
  if (user_id === asker.id) return null;
  if (role === 'member') return whyNot(removeAppMember, asker);
  // The table says `self` for a co-owner: about oneself only.
  const others = { who: { ...removeCoOwner.who, C: 'n' } } as const;
  return whyNot(others, asker);
}
