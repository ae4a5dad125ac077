import { sql } from 'kysely';
import type { AppAccess, MutationCtx } from '../plumbing/context.ts';
import { appTag } from '../tables/catalogue.ts';

interface Of {
  tenantId: string;
  appId: string;
}

/** For who holds the app: what became of the latest request to publish it. */
export async function markReviewed(
  ctx: MutationCtx,
  { tenantId, appId }: Of,
  status: 'pending' | 'rejected',
): Promise<void> {
  await sql`
    update svc.apps set review_status = ${status}, updated_at = ${ctx.now}
    where tenant_id = ${tenantId} and id = ${appId}`.execute(ctx.db);
  ctx.changed(appTag(appId));
}

/** For who holds the app: a request came to nothing, or the app was made narrower. What was refused stays so. */
export async function markAsShown(ctx: MutationCtx, { tenantId, appId }: Of): Promise<void> {
  await sql`
    update svc.apps set review_status = case visibility when 'private' then 'none' else 'approved' end,
      updated_at = ${ctx.now}
    where tenant_id = ${tenantId} and id = ${appId} and review_status in ('pending', 'approved')`.execute(
    ctx.db,
  );
  ctx.changed(appTag(appId));
}

/** For who holds the app: the one way in which it is shown to more people than before. */
export async function widenApp(
  ctx: MutationCtx,
  { tenantId, appId }: Of,
  visibility: AppAccess['visibility'],
): Promise<void> {
  await sql`
    update svc.apps set visibility = ${visibility}, review_status = 'approved', updated_at = ${ctx.now}
    where tenant_id = ${tenantId} and id = ${appId}`.execute(ctx.db);
  ctx.changed(appTag(appId));
}
