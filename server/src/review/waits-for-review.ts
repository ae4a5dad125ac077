import type { Ctx } from '../plumbing/context.ts';
import { statusOf } from './rules.ts';
import { type AppPlace, findOpenPublicationRow } from './store.ts';

/** Whether a request to publish that nobody has decided yet is of this release. */
export async function waitsForReview(
  { db, now }: Pick<Ctx, 'db' | 'now'>,
  place: AppPlace,
  releaseId: string,
): Promise<boolean> {
  const open = await findOpenPublicationRow(db, place);
  return open?.release_id === releaseId && statusOf(open, now) === 'pending';
}
