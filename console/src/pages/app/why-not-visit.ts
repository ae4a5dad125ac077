import type { AppView } from './use-app.ts';

/** Why somebody is turned away at the app's own address: to govern an app is not to look into it. */
export function whyNotVisit({
  visibility,
  relation,
}: Pick<AppView, 'visibility' | 'relation'>): string | null {
  if (relation === 'owner' || relation === 'co_owner') return null;
  if (visibility === 'private') return 'The app is private: only its owner and its co-owners see it.';
  if (visibility === 'invite_only' && relation !== 'member')
    return 'Only its owner, its co-owners and who is invited see it.';
  return null;
}
