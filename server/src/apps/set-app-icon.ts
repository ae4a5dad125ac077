import { sql } from 'kysely';
import type { MutationCtx } from '../plumbing/context.ts';
import { appTag } from '../tables/catalogue.ts';

/** For who holds the app and has audited it: an upload is more than a new address. */
export async function setAppIcon(
  ctx: MutationCtx,
  {
    tenantId,
    appId,
    column,
    url,
  }: { tenantId: string; appId: string; column: 'icon_url' | 'icon_dark_url'; url: string },
): Promise<void> {
  await sql`
    update svc.apps set ${sql.ref(column)} = ${url}, updated_at = ${ctx.now}
    where tenant_id = ${tenantId} and id = ${appId}`.execute(ctx.db);
  ctx.changed(appTag(appId));
}
