import type { MutationCtx } from '../plumbing/context.ts';
import { endRequest, nothingTold, type Told } from './end-request.ts';
import { stands } from './rules.ts';
import { type AppPlace, findOpenPublicationRow, type PublicationRow } from './store.ts';
import { whatIsDeployed } from './what-is-deployed.ts';

export interface Shown {
  kind: 'deployment' | 'release';
  id: string;
}

/**
 * For who holds the app and has just changed what is deployed, or how it is served: a review of what was there before has
 * come to nothing. `shown` is what became live by it.
 */
export async function supersedeOpenRequest(
  ctx: MutationCtx,
  place: AppPlace,
  { shown = null }: { shown?: Shown | null } = {},
): Promise<Told> {
  const open = await findOpenPublicationRow(ctx.db, place);
  if (!open) return nothingTold;
  if (!takesPlaceOf(open, shown) && stands(open, await whatIsDeployed(ctx.db, place))) return nothingTold;
  ctx.warn('The request to publish that waits for its review is over: it is of what was deployed before.');
  return supersede(ctx, open);
}

/** A release shown beside a deployment that runs takes the place of nothing. */
function takesPlaceOf(open: PublicationRow, shown: Shown | null): boolean {
  if (shown === null) return false;
  if (shown.kind === 'deployment') return shown.id !== open.deployment_id;
  return open.release_id !== null && shown.id !== open.release_id;
}

export function supersede(ctx: MutationCtx, open: PublicationRow): Promise<Told> {
  return endRequest(ctx, open, {
    status: 'superseded',
    reason: 'What was to be reviewed is not what is deployed any more.',
  });
}
