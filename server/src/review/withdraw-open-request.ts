import type { MutationCtx } from '../plumbing/context.ts';
import { endRequest, nothingTold, type Told } from './end-request.ts';
import { type AppPlace, findOpenPublicationRow } from './store.ts';

const reasons = {
  narrowed: 'The app was made narrower.',
  archived: 'The app was archived.',
  deleted: 'The app was deleted.',
} as const;

/** For who holds the app, and does to it what a request to publish it does not outlive. */
export async function withdrawOpenRequest(
  ctx: MutationCtx,
  place: AppPlace,
  { why }: { why: keyof typeof reasons },
): Promise<Told> {
  const open = await findOpenPublicationRow(ctx.db, place);
  if (!open) return nothingTold;
  ctx.warn('The request to publish that waits for its review is withdrawn.');
  return endRequest(ctx, open, { status: 'withdrawn', reason: reasons[why] });
}
