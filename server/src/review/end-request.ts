import { markAsShown } from '../apps/mark-reviewed.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { isUuid } from '../plumbing/ref.ts';
import { endPublicationRow, type PublicationRow } from './store.ts';
import { tellOwners, tellWhoAsked } from './tell.ts';

export type CameToNothing = 'withdrawn' | 'superseded' | 'expired';

/** What a plan and the audit tell of a request that ends with something else. */
export interface Told {
  before: Record<string, unknown>;
  after: Record<string, unknown>;
}

/** For who holds the app: a request that waits is over without a decision. Answers what is to be told of it. */
export async function endRequest(
  ctx: MutationCtx,
  { id, tenant_id: tenantId, app_id: appId }: PublicationRow,
  { status, reason }: { status: CameToNothing; reason: string },
): Promise<Told> {
  const isTakenBack = status === 'withdrawn' && isUuid(ctx.caller.userId);
  const set = { status, reason, decided_by: isTakenBack ? ctx.caller.userId : null, decided_at: ctx.now };
  const ended = await endPublicationRow(ctx.db, tenantId, { id, set });
  await markAsShown(ctx, { tenantId, appId });
  if (status === 'withdrawn') await tellWhoAsked(ctx, ended);
  else await tellOwners(ctx, { ...ended, status });
  return { before: { publication_request: 'pending' }, after: { publication_request: status } };
}

export const nothingTold: Told = { before: {}, after: {} };
