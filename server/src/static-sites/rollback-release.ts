import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { showIfAllowed } from './activate-release.ts';
import { holdRelease } from './hold-release.ts';
import type { SitePlaces } from './site-urls.ts';

/** Back to what visitors saw before. */
export async function rollbackRelease(ctx: AppMutationCtx, { id }: { id: string }, places: SitePlaces) {
  const held = await holdRelease(ctx, { id, wanted: 'owners', archived: 'refused' });
  const { state, activated_at } = held.release;
  if (state === 'revoked') throw fail('release_revoked');
  if (state !== 'finalized' || activated_at === null) throw fail('not_rollback_target');
  return showIfAllowed(ctx, held, { action: 'releases.rollback', places });
}
